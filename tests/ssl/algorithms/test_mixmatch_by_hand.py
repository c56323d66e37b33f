"""One update of MixMatch worked by hand, by the paper's text and by its authors' code."""

from math import log
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from mixmood.ssl.algorithms.algorithm import Step
from mixmood.ssl.algorithms.consistency import MixMatch

HALF = torch.tensor([[0.5, 0.5]])
SURE = torch.tensor([[0.8, 0.2]])
CODE = {"hard_targets": True, "weighted_mean": True, "squared_pool_weights": True}


def step(guess=HALF):
    """Two labelled images of class 0 and 1 and one unlabelled one; class weights 1/4 and 3/4.

    Each row is mixed with the next one, with a share of 3/4 for its own. The network answers 0.8
    and 0.2 for labelled images, and a half each for the unlabelled one.
    """
    network = SimpleNamespace(
        guess=lambda images: guess,
        parts=lambda parts, batch_norm: [SURE.log().repeat(2, 1), HALF.log()],
    )
    drawn = SimpleNamespace(
        permutation=lambda n: np.array([1, 2, 0]), beta=lambda a, b, n: np.array([0.25])
    )
    return Step(
        network=network,
        teacher=None,
        targets=torch.eye(2),
        class_weights=torch.tensor([0.25, 0.75]),
        pool_weights=torch.tensor([0.25, 0.75]),
        update=0,
        labelled=lambda: torch.zeros(2, 1, 1, 1),
        unlabelled=lambda views: torch.zeros(1, 1, 1, 1),
        strong=lambda: torch.zeros(1, 1, 1, 1),
        rng=lambda purpose: drawn,
    )


def losses(guess=HALF, **settings):
    found = MixMatch(views=1, ramp_updates=0, balanced="both", **settings).loss(step(guess))
    return found.labelled.item(), found.unlabelled.item(), found.total.item()


def test_the_loss_of_the_text():
    """Mixed targets: (3/4, 1/4) and (1/8, 7/8) labelled, (5/8, 3/8) unlabelled, of class 0."""
    first = 0.25 * 3 / 4 * log(0.8) + 0.75 * 1 / 4 * log(0.2)
    second = 0.25 * 1 / 8 * log(0.8) + 0.75 * 7 / 8 * log(0.2)
    labelled, pool = -(first + second) / 2, 0.25 * 0.125**2
    assert losses() == pytest.approx((labelled, pool, labelled + 25 * pool))


def test_the_loss_of_the_authors_code():
    """Targets by arg-max: classes 0 and 1, whose weights sum to 1; the pool's weight is squared."""
    labelled = -(0.25 * log(0.8) + 0.75 * log(0.2)) / (0.25 + 0.75)
    pool = 0.25**2 * 0.125**2
    assert losses(**CODE) == pytest.approx((labelled, pool, labelled + 25 * pool))


def test_hard_targets_alone_change_the_labelled_loss_only():
    labelled, pool, _ = losses(hard_targets=True)
    assert labelled == pytest.approx(-(0.25 * log(0.8) + 0.75 * log(0.2)) / 2)
    assert pool == pytest.approx(losses()[1])


def test_a_weighted_mean_of_mixed_targets_divides_by_their_weights():
    """1/4 3/4 + 3/4 1/4 = 3/8 and 1/4 1/8 + 3/4 7/8 = 11/16, in sum 17/16."""
    assert losses(weighted_mean=True)[0] == pytest.approx(losses()[0] * 2 / (17 / 16))


def test_a_temperature_of_a_quarter_takes_the_fourth_power_of_the_guess():
    """(0.6, 0.4) becomes 0.1296 and 0.0256 over 0.1552; a quarter of the target is (1, 0)."""
    sharp = 0.1296 / 0.1552
    error = 0.75 * sharp + 0.25 - 0.5
    pool = losses(guess=torch.tensor([[0.6, 0.4]]), temperature=0.25)[1]
    assert pool == pytest.approx(0.25 * error**2)
