"""Closed, full and broken standard streams: an exit code, a line at most, never a traceback."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="speaks to a POSIX shell")

PROGRAM = f"{sys.executable} -m mixmood"
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")


def run(line, **environment):
    return subprocess.run(
        ["bash", "-c", line.replace("mixmood", PROGRAM, 1)],
        env=os.environ | {"MPLBACKEND": "agg"} | environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("mixmood data list >&-", 0),
        ("mixmood data list <&- >&- 2>&-", 0),
        ("mixmood --help >&-", 0),
        ("mixmood cache info --cache nowhere 2>&-", 1),
        ("mixmood cache info --cache nowhere >&- 2>&-", 1),
        ("mixmood rank --seed x a b >&-", 2),
    ],
)
def test_a_closed_stream_changes_no_exit_code(line, code):
    done = run(line)
    assert done.returncode == code
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.slow
def test_a_ranking_is_written_though_streams_are_closed(tmp_path, rank_pools):
    """Files that are opened then take their numbers: the cache, perhaps."""
    words = shlex.join(
        [*rank_pools, "--json", f"{tmp_path}/ranking.json", "--cache", f"{tmp_path}"]
    )
    done = run(f"mixmood {words} <&- >&- 2>&-")
    assert done.returncode == 0
    assert (tmp_path / "ranking.json").read_text().startswith('{\n  "schema"')


@needs_full
@pytest.mark.parametrize("line", ["mixmood data list", "mixmood --help", "mixmood --version"])
def test_a_full_disk_behind_stdout_is_told(line):
    done = run(f"{line} > /dev/full")
    assert done.returncode == 1
    assert done.stderr == (
        "Error: Cannot write the output: No space left on device. Make room, or write elsewhere.\n"
    )


@needs_full
def test_debug_shows_where_the_output_failed():
    done = run("mixmood --debug data list > /dev/full")
    assert done.returncode == 1
    assert "OSError: [Errno 28]" in done.stderr


@needs_full
def test_a_full_disk_behind_stderr_keeps_the_exit_code():
    assert run("mixmood cache info --cache nowhere 2> /dev/full").returncode == 1


def test_a_reader_that_has_seen_enough_is_no_error_to_talk_about():
    done = run("mixmood data list | head -1; exit ${PIPESTATUS[0]}")
    # 0 if all of it went into the pipe before the reader left.
    assert done.returncode in (0, 1)
    assert done.stdout.startswith("folder  ")
    assert done.stderr == ""


def test_a_pipe_broken_before_the_first_word_is_quiet():
    done = run("(sleep 0.1; mixmood data list) | true; exit ${PIPESTATUS[0]}")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
