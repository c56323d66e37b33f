"""Labelled sets judge pools, or say why they cannot; the name of a pool changes nothing."""

import numpy as np
import pytest
from tests.fixtures.class_features import class_sets

import mixmood
from mixmood.core.errors import InputError
from mixmood.evidence.labelled import N_FIRST, N_POOL, LabelledEvidence

WIDTH = 32


@pytest.fixture(scope="module")
def sets():
    return class_sets(60, 1500, (20, 24), WIDTH, 3)


def evidence(codes):
    features = np.random.default_rng(0).normal(size=(len(codes), 4))
    return LabelledEvidence(features, np.array(codes), seed=0)


@pytest.mark.parametrize(
    ("codes", "reason"),
    [
        (range(101), "at most 100 classes; the 101 labelled images that it uses have 101"),
        (np.arange(900) % 600, "the 500 labelled images that it uses have 500"),
        ([0] * 12, "needs two classes"),
    ],
)
def test_labels_on_which_no_gain_can_be_measured_say_why(codes, reason):
    found = evidence(codes)
    assert reason in found.why_no_gain
    with pytest.raises(InputError, match=reason):
        _ = found.folds


def test_without_classes_there_is_a_share_but_no_gain(sets):
    labelled, _, pools = sets
    found = LabelledEvidence(labelled, None, seed=0)
    assert "needs classes" in found.why_no_gain
    assert found.part(pools["same"]).share.share > 0.5


def test_of_a_foreign_pool_the_first_images_are_enough(sets):
    labelled, codes, pools = sets
    found = LabelledEvidence(labelled, codes, seed=0)
    assert len(found.part(pools["foreign"]).features) == N_FIRST
    assert len(found.part(pools["same"]).features) == N_POOL


def judged(report, name):
    return next(candidate for candidate in report.candidates if candidate.name == name)


def test_the_same_pool_has_the_same_numbers_under_another_name(sets):
    labelled, codes, pools = sets
    options = {"draws": 4, "until": None, "cache": None}
    same, foreign = pools["same"][:400], pools["foreign"][:400]
    first = mixmood.rank((labelled, codes), {"same": same, "foreign": foreign}, **options)
    second = mixmood.rank((labelled, codes), {"other name": same, "foreign": foreign}, **options)
    one, other = judged(first, "same"), judged(second, "other name")
    assert one.probe == other.probe
    assert one.useful_share == other.useful_share
    assert one.measures == other.measures


def test_rank_and_filter_give_a_pool_the_same_gain(sets):
    """Of more images than are read first."""
    labelled, codes, pools = sets
    pools = {name: pool[: N_FIRST + 100] for name, pool in pools.items()}
    report = mixmood.rank((labelled, codes), pools, draws=2, cache=None)
    for name, pool in pools.items():
        kept = mixmood.filter((labelled, codes), pool, keep=0.5, cache=None)
        probe, before = judged(report, name).probe, kept.record.probe.whole
        assert (probe.gain, probe.interval, probe.p_helps) == (
            before.gain, before.interval, before.p_helps,
        )  # fmt: skip


def test_rank_gives_features_the_distance_of_dissimilarity(sets):
    labelled, codes, pools = sets
    report = mixmood.rank((labelled, codes), pools, until=None, probe=False, cache=None)
    alone = mixmood.dissimilarity(labelled, pools["same"])
    assert judged(report, "same").measures["cosine"].intra == alone.intra
