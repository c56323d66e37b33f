"""Commands end without a warning, a process, or a file where it was not asked for.

They run with every warning an error and in Python's development mode, which tells of each file and
socket that was left to be closed by chance.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from fuzz.killing import is_over, members
from fuzz.tiny_bed import FROZEN
from PIL import Image


def two_runs():
    """A test bed of heads, one with a pool and one without: a run for each worker."""
    bed = FROZEN
    for words, fewer in (
        ("seeds = 2", "seeds = 1"),
        ('"other_half", ', ""),
        ('"none", ', ""),
        (', "pseudo-label"', ""),
    ):
        bed = bed.replace(words, fewer)
    return bed


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A folder with pools of images, a test bed, and two tables to correlate."""
    root = tmp_path_factory.mktemp("desk")
    rng = np.random.default_rng(0)
    for name in ("labelled/dark", "labelled/light", "pool"):
        (root / name).mkdir(parents=True)
        for index in range(8):
            pixels = rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(root / name / f"{index}.png")
    np.save(root / "pool.npy", rng.integers(0, 256, (9, 8, 8, 3), dtype=np.uint8))
    (root / "bed.toml").write_text(two_runs())
    return root


@pytest.fixture
def start(desk, tmp_path):
    """Starts a command in a session of its own, with a temporary directory of its own."""
    started = []
    (tmp_path / "temporary").mkdir()

    def begin(*words):
        process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "mixmood", *map(str, words)],
            cwd=desk, start_new_session=True, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONDEVMODE": "1", "TMPDIR": str(tmp_path / "temporary")},
        )  # fmt: skip
        started.append(process)
        return process

    yield begin
    for process in started:
        if members(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def ended(process, temporary):
    """Exit code, stdout and stderr, once it is sure that nothing was left behind."""
    out, err = process.communicate(timeout=240)
    assert is_over(process.pid)
    # Torch makes an empty folder for its compiler, one for all its runs.
    left = [path for path in temporary.iterdir() if not path.name.startswith("torchinductor_")]
    assert left == []
    if sys.platform == "linux":
        assert not list(Path("/dev/shm").glob(f"*[-_]{process.pid}[-_]*"))
    for word in ("Warning", "Traceback", "ignored"):
        assert word not in err
    return process.returncode, out, err


@pytest.mark.slow
def test_a_ranking_ends_clean(start, tmp_path):
    words = ["rank", "labelled", "pool", "array=pool.npy", "--draws", "2", "--measure", "l2"]
    words += ["--resolution", "64", "--depth", "last"]
    outputs = ["--json", "rank.json", "--csv", "rank.csv", "--html", "rank.html"]
    code, out, err = ended(start(*words, *outputs), tmp_path / "temporary")
    assert (code, err) == (0, "")
    assert out


@pytest.mark.slow
def test_a_training_and_its_classifier_end_clean(start, tmp_path):
    temporary = tmp_path / "temporary"
    words = ("--labelled", "labelled", "--unlabelled", "pool", "--out", tmp_path / "run")
    quick = ("--model", "wrn-tiny", "--epochs", 2, "--updates", 4, "--batch-size", 4)
    code, out, _ = ended(start("train", *words, *quick), temporary)
    assert (code, out.partition(",")[0]) == (0, "test accuracy")
    code, out, err = ended(start("predict", "--model", tmp_path / "run", "pool"), temporary)
    assert (code, err, len(out.splitlines())) == (0, "", 9)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["done", "SIGTERM", "a terminal's Ctrl-C"])
def test_a_test_bed_ends_clean_and_takes_its_workers_along(start, tmp_path, end):
    """Of heads, because starting torch takes most of the time; see `test_interrupted_imports`."""
    process = start("testbed", "run", "bed.toml", "--store", tmp_path / "store", "--jobs", 2)
    if end != "done":
        while len(members(process.pid)) < 5:  # itself, two watchmen, two workers
            assert process.poll() is None
            time.sleep(0.05)
        if end == "SIGTERM":
            os.kill(process.pid, signal.SIGTERM)
        else:
            os.killpg(process.pid, signal.SIGINT)
    code, _, err = ended(process, tmp_path / "temporary")
    assert code == (0 if end == "done" else 130), err


def test_a_mistake_ends_clean(start, tmp_path):
    words = ["testbed", "run", "nothing", "--store", tmp_path / "store"]
    code, out, err = ended(start(*words), tmp_path / "temporary")
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
