"""A record holds the keys and numbers of the golden one, and comes back from its JSON."""

import json
from pathlib import Path

import numpy as np
import pytest

import mixmood
from mixmood.core.errors import InputError
from mixmood.core.records.ranking_file import ranking_from_json
from mixmood.report.ranking.page import ranking_page
from mixmood.report.ranking.text import plain_text, ranking_view

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
    return mixmood.rank(
        labelled, pools, measures=["cosine", "l2"], sample_size=10, draws=4, seed=3, until=None
    )


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


def test_the_golden_record_is_read_and_shown():
    record = ranking_from_json(OLD.read_text())
    assert [c.name for c in record.candidates] == ["near", "wide", "far <é>"]
    assert [c.measures["l2"].rank for c in record.candidates] == [1, 2, 3]
    assert record.candidates[0].measures["cosine"].p_best == record.candidates[0].p_best
    assert "near is the nearest pool" in plain_text(ranking_view(record), 80)
    assert "far &lt;é&gt;" in ranking_page(record)


def test_a_record_comes_back_as_it_was(report):
    text = report.to_json()
    assert ranking_from_json(text).to_json() == text


def test_keys_of_a_later_version_are_ignored():
    record = json.loads(OLD.read_text()) | {"later": 1}
    assert ranking_from_json(json.dumps(record)).best == "near"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not the JSON of a ranking"),
        ("[]", "not the JSON of a ranking"),
        ("{}", "not the JSON of a ranking"),
        ('{"schema": 2}', "has schema 2; this version reads schema 1"),
        ('{"schema": 1}', "not the JSON of a ranking"),
        ('{"schema": 1, "candidates": []}', "not the JSON of a ranking"),
        ("[" * 100_000, "not the JSON of a ranking"),
    ],
)
def test_other_texts_are_refused(text, message):
    with pytest.raises(InputError, match=message):
        ranking_from_json(text)
