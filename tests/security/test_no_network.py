"""Ranking is offline: nothing is fetched, nothing is reported to anyone."""

import os
import subprocess
import sys

import numpy as np
import pytest

GUARD = """
import os, sys

def refuse(event, arguments):
    if event.startswith("socket.") and event != "socket.gethostname":
        os.write(2, f"OPENED {event} {arguments}".encode())
        os._exit(97)

sys.addaudithook(refuse)
"""


@pytest.fixture
def guarded(tmp_path):
    """Runs Python where the first socket ends the process."""
    (tmp_path / "guard").mkdir()
    (tmp_path / "guard" / "sitecustomize.py").write_text(GUARD)

    def run(*words):
        return subprocess.run(
            [sys.executable, *map(str, words)],
            capture_output=True,
            text=True,
            timeout=280,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(tmp_path / "guard"), "HOME": str(tmp_path)},
        )

    return run


def test_the_guard_works(guarded):
    found = guarded("-c", "import socket; socket.socket()")
    assert found.returncode == 97
    assert "OPENED socket.__new__" in found.stderr


def test_rank_opens_no_socket(guarded, tmp_path):
    rng = np.random.default_rng(0)
    for name in ("labelled", "pool"):
        np.save(tmp_path / f"{name}.npy", rng.integers(0, 256, (16, 16, 16, 3), dtype=np.uint8))
    words = ("labelled.npy", "pool.npy", "noise:gaussian", "--draws", 2, "--measure", "cosine")
    found = guarded("-m", "mixmood", "rank", *words, "--html", "page.html")
    assert found.returncode == 0, found.stderr
    assert (tmp_path / "page.html").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("demo_cache")
def test_demo_opens_no_socket(guarded):
    found = guarded("-m", "mixmood", "demo")
    assert found.returncode == 0, found.stderr
