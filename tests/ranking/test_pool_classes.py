"""Which classes a pool looks like."""

import numpy as np
import pytest

import mixmood
from mixmood.core.records.ranking import LabelledSet
from mixmood.data.images.pool import Labels
from mixmood.data.readers.array import FeatureArray
from mixmood.features.extract import Extractor
from mixmood.features.reading import POOL, Reading
from mixmood.ranking.record import one_class_warning, pool_class_shares


def of_class(rng, code, n):
    return np.abs(rng.normal(size=(n, 6))) + 6 * np.eye(6)[code]


@pytest.fixture
def labelled(rng):
    """Features with classes."""
    labels = Labels(np.repeat(np.arange(3), 20).astype(np.int32), ("rose", "tulip", "lily"))
    return FeatureArray(np.concatenate([of_class(rng, c, 20) for c in range(3)]), "mine", labels)


def test_the_shares_are_those_of_the_pool(labelled, rng):
    pools = {
        "tulips": of_class(rng, 1, 100),
        "mixed": np.concatenate([of_class(rng, 0, 50), of_class(rng, 2, 150)]),
    }
    report = mixmood.rank(labelled, pools, draws=7, until=None, probe=False)
    found = {candidate.name: candidate for candidate in report.candidates}
    assert found["tulips"].classes["tulip"] > 0.8
    mixed = found["mixed"].classes
    assert [mixed[c] for c in ("rose", "tulip", "lily")] == pytest.approx([0.25, 0, 0.75], abs=0.06)
    assert (
        "looks like the class 'tulip', which has 33 % of the labelled"
        in found["tulips"].warnings[0]
    )


def test_without_classes_there_are_no_shares(rng):
    pool = FeatureArray(rng.normal(size=(9, 6)), "plain")
    reading = Reading.begin(pool, 9, 0, POOL, Extractor(None)).read_on(9)
    assert pool_class_shares(reading, {"pool": reading}) is None


def test_one_class_with_most_of_a_pool_gets_a_warning():
    even = LabelledSet("mine", 20, 0, 20, "f", {"a": 10, "b": 10})
    assert (
        one_class_warning({"a": 0.9, "b": 0.1}, even) is None
    )  # less than twice its labelled share
    rare = LabelledSet("mine", 20, 0, 20, "f", {"a": 4, "b": 16})
    assert "most of it (90 %) looks like the class 'a', which has 20 %" in one_class_warning(
        {"a": 0.9, "b": 0.1}, rare
    )
    assert one_class_warning({"a": 0.5, "b": 0.5}, rare) is None


def test_a_foreign_pool_gets_no_warning_of_its_classes(labelled, rng):
    """Each of its images gets the class that it is least unlike, which means nothing."""
    tulips, foreign = of_class(rng, 1, 200), of_class(rng, 1, 200) + 30 * np.eye(6)[4]
    report = mixmood.rank(labelled, {"tulips": tulips, "foreign": foreign}, draws=4)
    found = {candidate.name: candidate for candidate in report.candidates}
    assert found["foreign"].useful_share.interval[1] < 0.2
    assert not any("looks like the class" in text for text in found["foreign"].warnings)
    assert any("looks like the class 'tulip'" in text for text in found["tulips"].warnings)
