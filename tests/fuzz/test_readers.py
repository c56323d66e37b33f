"""A few hundred of the inputs of `make fuzz`, the same ones each time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def python(module, *words, **environment):
    return subprocess.run(
        [sys.executable, "-m", module, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=280,
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limits of a process are Linux's")
def test_no_reader_falls_for_damaged_files(tmp_path):
    """96 inputs; a finding is printed with its traceback's last line and kept in a folder."""
    found = python("fuzz", "--count", 3, "--findings", tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr
    total = found.stdout.splitlines()[-2].split()
    assert total[:2] == ["all", "96"]
    assert all(int(count) for count in total[2:-1]), "every kind of outcome should occur"


@pytest.mark.skipif(sys.platform != "linux", reason="the limits of a process are Linux's")
def test_the_harness_finds_every_kind_of_fault(tmp_path):
    """What finds nothing must be shown to find something."""
    expected = {
        "abort": "SIGABRT",
        "raise_another": "KeyError",
        "write_outside": "it touched open",
        "take_memory": "MemoryError",
        "hang": "SIGPROF",
        "wait": "SIGALRM",
    }
    words = ("--count", 2, "--findings", tmp_path / "findings", "--only", *expected)
    found = python("fuzz.faults", *words, OUTSIDE=str(tmp_path / "outside"))
    assert found.returncode == 1, found.stderr
    for name, told in expected.items():
        first = (tmp_path / "findings" / f"{name}-0-0" / "FINDING.txt").read_text()
        assert first.startswith(f"python -m fuzz --only {name} --seed 0 --start 0 --count 1")
        assert told in first
