"""Labelled sets whose pools cannot be probed."""

import numpy as np

from mixmood.core.listener import Silent
from mixmood.data.images.pool import Labels
from mixmood.data.readers.array import FeatureArray
from mixmood.ranking.plan import RankingPlan
from mixmood.ranking.probing import prober
from mixmood.ranking.reading import Reading


def reading(codes):
    class Labelled(FeatureArray):
        labels = Labels(np.array(codes, np.int32), tuple(map(str, range(max(codes) + 1))))

    pool = Labelled(np.random.default_rng(0).normal(size=(len(codes), 4)), "mine")
    return Reading(pool, len(codes), 0, None, None, None, Silent())


def test_more_classes_than_the_probe_takes_are_named():
    assert prober(reading(range(101)), RankingPlan()) == (
        "The pools were not probed: the probe takes at most 100 classes; got 101."
    )


def test_labels_that_cannot_be_cross_validated_are_named():
    assert prober(reading([0] * 12), RankingPlan()).startswith(
        "The pools were not probed: Cross-validation needs two classes"
    )
