"""A few of the kills of `make kills`; there are a hundred in the long run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz.kill_scenes import SCENES
from fuzz.killing import environment
from fuzz.kills import BED

pytestmark = pytest.mark.skipif(os.name == "nt", reason="kills as POSIX does")
ROOT = Path(__file__).parents[2]
SEED = "1597"
"""Kills while features are cached, while reports are written and in the middle of a training."""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_killed_process_leaves_nothing_half_and_ends_as_if_it_had_lived():
    done = subprocess.run(
        [sys.executable, "-m", "fuzz.kills", "--kills", "1", "--seed", SEED],
        cwd=ROOT, env=environment(), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    counts = {name: rest for name, *rest in map(str.split, done.stdout.splitlines()[1:-1])}
    n_kills, n_findings = ({name: int(row[k]) for name, row in counts.items()} for k in (0, 3))
    assert n_kills == dict.fromkeys([*SCENES, BED], 1)
    assert n_findings == dict.fromkeys([*SCENES, BED], 0)
