"""A record holds the keys and numbers of the golden one."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.fixtures.few_draws import ALL, repeats

import mixmood

OLD = Path(__file__).parent / "golden" / "ranking.json"


@pytest.fixture(scope="module")
def report():
    """The ranking that the file holds, computed again."""
    rng = np.random.default_rng(7)
    labelled = rng.normal(size=(30, 6))
    pools = {
        "near": rng.normal(size=(60, 6)),
        "far <é>": rng.normal(1.5, size=(50, 6)),
        "wide": 2 * rng.normal(size=(80, 6)),
    }
    options = {"sample_size": 10, "draws": 4, "seed": 3, "until": None}
    with repeats(ALL):
        return mixmood.rank(labelled, pools, measures=["cosine", "l2"], **options)


def assert_holds(new, old, at=""):
    """Everything in the golden record is in the new one; further keys may be there."""
    if isinstance(old, dict):
        for key, value in old.items():
            assert key in new, f"{at}/{key}"
            if (at, key) not in {("", "mixmood"), ("", "verdict")}:
                assert_holds(new[key], value, f"{at}/{key}")
    elif isinstance(old, list):
        assert len(new) == len(old), at
        for k, value in enumerate(old):
            assert_holds(new[k], value, f"{at}/{k}")
    else:
        assert new == (pytest.approx(old, rel=1e-9) if isinstance(old, float) else old), at


def test_every_key_and_number_of_the_golden_record_is_in_a_new_one(report):
    assert_holds(json.loads(report.to_json()), json.loads(OLD.read_text()))
