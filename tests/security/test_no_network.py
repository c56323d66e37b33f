"""Ranking is offline: nothing is fetched, nothing is reported to anyone."""

import json
import subprocess
import sys

import numpy as np
import pytest
from tests.fixtures.no_network import ENDED, GUARD, guarded_environment


@pytest.fixture
def guarded(tmp_path):
    """Runs Python where the first socket ends the process."""
    environment = guarded_environment(tmp_path / "guard") | {"HOME": str(tmp_path)}

    def run(*words):
        return subprocess.run(
            [sys.executable, *map(str, words)],
            capture_output=True,
            text=True,
            timeout=280,
            cwd=tmp_path,
            env=environment,
        )

    return run


def test_the_guard_works(guarded):
    found = guarded("-c", "import socket; socket.socket()")
    assert found.returncode == ENDED
    assert "OPENED socket.__new__" in found.stderr


def test_rank_opens_no_socket(guarded, tmp_path):
    """Nor does anything write to the streams beside it."""
    rng = np.random.default_rng(0)
    for name in ("labelled", "pool"):
        np.save(tmp_path / f"{name}.npy", rng.integers(0, 256, (16, 16, 16, 3), dtype=np.uint8))
    words = (
        "labelled.npy",
        "pool.npy",
        "noise:gaussian?count=32",
        "--draws",
        2,
        "--measure",
        "l2",
        "--resolution",
        64,
    )
    found = guarded("-m", "mixmood", "rank", *words, "--html", "page.html", "--json", "-")
    assert found.returncode == 0
    # One note about the view, because there are no classes, and no word of a socket.
    assert found.stderr.startswith("64 px, both (the largest view)")
    assert found.stderr.count("\n") == 1
    assert len(json.loads(found.stdout)["candidates"]) == 2
    assert (tmp_path / "page.html").exists()


@pytest.mark.slow
def test_demo_opens_no_socket(cold_demo):
    """The demonstration that all tests share ran under the guard, to its end."""
    assert (cold_demo.folder / "guard" / "sitecustomize.py").read_text() == GUARD
    assert "OPENED" not in cold_demo.stderr
    assert (cold_demo.folder / "demo.json").exists()
