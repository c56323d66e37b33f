"""A scan that is killed, interrupted or meets a full disk goes on to the same bytes."""

import signal
import subprocess
import sys
import time

from tests.fixtures.filter_command import SMALL_PARTS, filtered, invoke, small

from mixmood.core.errors import OutputError
from mixmood.selection import scan as parts


def started(code, *words, cwd):
    """A filter in a process of its own, with parts of eight images."""
    source = f"{SMALL_PARTS}{code}\nfrom mixmood.cli.main import main\nmain()"
    return subprocess.Popen(
        [sys.executable, "-c", source, "filter", *map(str, words)],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


STALLS = """
import time
import mixmood.selection.scan as local
write = local.write_part
def slowly(folder, start, part):
    if start >= 16:
        time.sleep(60)
    write(folder, start, part)
local.write_part = slowly
"""
"""Two parts are written, and the third never is."""


def stalled(words, cwd, out):
    """Wait until a stalled scan has written its second part, however slow the machine is."""
    process = started(STALLS, *words, cwd=cwd)
    second = out.with_name(f"{out.name}.parts") / "part-000000000008.npz"
    while not second.exists():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)
    return process


def test_a_killed_scan_goes_on_and_ends_with_the_same_bytes(in_images, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "PART_SIZE", 8)
    filtered(*small("--out", tmp_path / "whole.csv"))
    out = tmp_path / "killed.csv"
    process = stalled(small("--out", out), in_images, out)
    process.kill()
    process.communicate()
    assert not out.exists()
    refused = invoke(*small("--out", out))
    assert refused.exit_code == 1
    assert "holds an unfinished scan. Continue it with --resume" in refused.stderr
    other = invoke(*small("--score", "knn", "--resume", "--out", out))
    assert other.exit_code == 1
    assert "started with another labelled set or score" in other.stderr
    first = tmp_path / "killed.csv.parts" / "part-000000000000.npz"
    written_at = first.stat().st_mtime_ns
    seen = []
    write = parts.write_part
    monkeypatch.setattr(
        "mixmood.selection.scan.write_part",
        lambda folder, start, part: (seen.append(start), write(folder, start, part)),
    )
    assert first.stat().st_mtime_ns == written_at
    filtered(*small("--out", out, "--resume"))
    assert seen == [16, 24]
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert not (tmp_path / "killed.csv.parts").exists()


def test_ctrl_c_ends_with_130_and_says_how_to_go_on(in_images, tmp_path):
    out = tmp_path / "kept.csv"
    process = stalled(small("--out", out), in_images, out)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Interrupted. Continue with the same command and --resume." in errors
    assert "Traceback" not in errors
    assert not out.exists()


def test_ctrl_c_before_the_scan_ends_with_130_and_has_nothing_to_go_on_with(
    in_features, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        "mixmood.api.filter.fit_scorer", lambda *_, **__: signal.raise_signal(signal.SIGINT)
    )
    result = invoke("labelled.npy", "half.npy", "--out", tmp_path / "kept.csv")
    assert result.exit_code == 130
    assert "--resume" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_full_disk_loses_nothing(in_features, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "PART_SIZE", 64)
    filtered("labelled.npy", "half.npy", "--out", tmp_path / "whole.csv")
    out = tmp_path / "kept.csv"
    write = parts.write_part

    def fills_up(folder, start, part):
        if start:
            raise OutputError("Cannot write the part: No space left on device.")
        write(folder, start, part)

    monkeypatch.setattr("mixmood.selection.scan.write_part", fills_up)
    result = invoke("labelled.npy", "half.npy", "--out", out)
    assert result.exit_code == 1
    assert "No space left on device" in result.stderr
    assert (
        "The finished parts are kept: continue with the same command and --resume." in result.stderr
    )
    monkeypatch.setattr("mixmood.selection.scan.write_part", write)
    filtered("labelled.npy", "half.npy", "--out", out, "--resume")
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_a_damaged_part_is_named(in_features, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "PART_SIZE", 64)
    out = tmp_path / "kept.csv"
    write = parts.write_part

    def fails_late(folder, start, part):
        if start:
            raise KeyboardInterrupt
        write(folder, start, part)

    monkeypatch.setattr("mixmood.selection.scan.write_part", fails_late)
    assert invoke("labelled.npy", "half.npy", "--out", out).exit_code == 130
    monkeypatch.setattr("mixmood.selection.scan.write_part", write)
    (tmp_path / "kept.csv.parts" / "part-000000000000.npz").write_bytes(b"PK nothing")
    result = invoke("labelled.npy", "half.npy", "--out", out, "--resume")
    assert result.exit_code == 1
    assert "part-000000000000.npz is damaged: " in result.stderr
    assert "Delete it and continue with --resume" in result.stderr
