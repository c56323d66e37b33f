"""A few of the kills of `make kills`; there are a hundred in the long run."""

import os
import random

import pytest
from fuzz.kill_scenes import SCENES
from fuzz.kills import kill_repeatedly

pytestmark = pytest.mark.skipif(os.name == "nt", reason="kills as POSIX does")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SCENES)
def test_a_killed_process_leaves_nothing_half_and_ends_as_if_it_had_lived(name, tmp_path):
    outcome = kill_repeatedly(SCENES[name](tmp_path), 1, random.Random(0))
    assert outcome.findings == []
    assert outcome.n_kills == 1
