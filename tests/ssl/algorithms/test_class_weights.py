"""Which loss the class weights multiply."""

import numpy as np
import pytest
import torch

from mixmood.core.errors import OptionError
from mixmood.ssl.algorithms.losses import class_weights
from mixmood.ssl.algorithms.registry import ALGORITHMS
from mixmood.ssl.train import train


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS.keys())
def test_an_unknown_kind_of_class_weights_is_refused(algorithm):
    assert algorithm().balanced == "labelled"
    with pytest.raises(OptionError, match="Unknown value of balanced 'boht'. Did you mean 'both'"):
        algorithm(balanced="boht")


def test_the_pool_is_weighted_only_if_both_losses_are():
    counts = torch.tensor([30.0, 10.0])
    labelled, pool = class_weights("both", counts)
    assert labelled.tolist() == pool.tolist() == [0.25, 0.75]
    labelled, pool = class_weights("labelled", counts)
    assert (labelled.tolist(), pool.tolist()) == ([0.25, 0.75], [0.5, 0.5])
    labelled, pool = class_weights("none", counts)
    assert labelled.tolist() == pool.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "supervised"])
def test_with_equal_counts_it_makes_no_difference_and_with_unequal_ones_it_does(
    data, quick, algorithm
):
    def losses(rows, kind):
        settings = {"balanced": kind, "gamma": 1.0}
        if algorithm in ("pseudo-label", "fixmatch"):
            settings["threshold"] = 0.0
        arguments = (data[0][rows], data[1][rows], *data[2:])
        record = train(*arguments, algorithm=algorithm, settings=settings, **quick).record
        return [epoch.loss_unlabelled for epoch in record.epochs]

    equal, unequal = np.arange(12), np.array([0, 3, 6, 9, 1, 2])
    assert losses(equal, "labelled") == pytest.approx(losses(equal, "both"), rel=1e-5)
    assert losses(unequal, "labelled") != pytest.approx(losses(unequal, "both"), rel=1e-3)
