"""Which loss the class weights multiply."""

import math

import numpy as np
import pytest
import torch

from mixmood.core.errors import OptionError, ShapeError
from mixmood.ssl.algorithms import losses
from mixmood.ssl.algorithms.confident import adaptive_thresholds
from mixmood.ssl.algorithms.registry import ALGORITHMS
from mixmood.ssl.train import train

EVEN = torch.zeros(1, 2)
"""Logits whose probabilities are a half each."""


def test_cross_entropy_of_an_even_guess_is_the_logarithm_of_two():
    loss = losses.soft_cross_entropy(EVEN, torch.tensor([[1.0, 0.0]]), torch.ones(2))
    assert loss.item() == pytest.approx(math.log(2))


def test_cross_entropy_of_soft_targets_is_worked_by_hand():
    """Probabilities 0.8 and 0.2, targets 0.25 and 0.75, weights 1 and 2."""
    logits = torch.tensor([[math.log(0.8), math.log(0.2)]])
    loss = losses.soft_cross_entropy(logits, torch.tensor([[0.25, 0.75]]), torch.tensor([1.0, 2.0]))
    assert loss.item() == pytest.approx(-(0.25 * math.log(0.8) + 2 * 0.75 * math.log(0.2)))


def test_cross_entropy_is_the_mean_over_rows():
    logits, targets = EVEN.repeat(2, 1), torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    loss = losses.soft_cross_entropy(logits, targets, torch.tensor([1.0, 3.0]))
    assert loss.item() == pytest.approx(2 * math.log(2))


def test_cross_entropy_agrees_with_torch_on_random_rows():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(6, 4, generator=generator)
    targets = torch.rand(6, 4, generator=generator).softmax(dim=1)
    weights = torch.tensor([0.1, 0.2, 0.3, 0.4])
    reference = torch.nn.functional.cross_entropy(logits, targets, weight=weights)
    assert losses.soft_cross_entropy(logits, targets, weights).item() == pytest.approx(
        reference.item()
    )


def test_squared_error_is_weighted_by_the_class_of_the_largest_target():
    """Errors (0.5 - 0.9)^2 and (0.5 - 0.1)^2, mean 0.16; the first class weighs 3."""
    rows = losses.squared_error_rows(EVEN, torch.tensor([[0.9, 0.1]]), torch.tensor([3.0, 1.0]))
    assert rows.tolist() == pytest.approx([0.48])


def test_balanced_weights_are_inverse_to_counts_and_sum_to_one():
    assert losses.class_weights("both", torch.tensor([1.0, 2.0, 4.0]))[0].tolist() == pytest.approx(
        [4 / 7, 2 / 7, 1 / 7]
    )


def test_dropped_rows_add_nothing_but_still_count_in_the_mean():
    loss, is_kept = torch.tensor([1.0, 2.0, 3.0, 10.0]), torch.tensor([True, False, False, True])
    assert losses.masked_mean(loss, is_kept).item() == 2.75
    assert losses.masked_mean(loss, None).item() == 4.0


def test_a_mask_of_another_shape_is_refused():
    with pytest.raises(ShapeError, match=r"got \(4,\) and \(4, 1\)"):
        losses.masked_mean(torch.ones(4), torch.ones(4, 1, dtype=torch.bool))


def test_sharpening_at_half_squares_the_probabilities():
    """0.6 and 0.4 become 0.36 and 0.16, over 0.52."""
    sharp = losses.sharpen(torch.tensor([[0.6, 0.4]]), 0.5)
    assert sharp[0].tolist() == pytest.approx([0.36 / 0.52, 0.16 / 0.52])


def test_sharpening_at_one_changes_nothing():
    rows = torch.tensor([[0.7, 0.2, 0.1], [0.0, 0.5, 0.5]])
    assert torch.allclose(losses.sharpen(rows, 1.0), rows, atol=1e-6)


@pytest.mark.parametrize("temperature", [1e-2, 1e-4, 1e-6])
def test_sharpening_towards_zero_gives_one_hot(temperature):
    sharp = losses.sharpen(torch.tensor([[0.31, 0.34, 0.35], [1.0, 0.0, 0.0]]), temperature)
    expected = torch.tensor([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    assert torch.allclose(sharp, expected, atol=0.06)
    if temperature < 1e-3:
        assert torch.equal(sharp, expected)


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS.keys())
def test_an_unknown_kind_of_class_weights_is_refused(algorithm):
    assert algorithm().balanced == "labelled"
    with pytest.raises(OptionError, match="Unknown value of balanced 'boht'. Did you mean 'both'"):
        algorithm(balanced="boht")


def test_the_pool_is_weighted_only_if_both_losses_are():
    counts = torch.tensor([30.0, 10.0])
    labelled, pool = losses.class_weights("both", counts)
    assert labelled.tolist() == pool.tolist() == [0.25, 0.75]
    labelled, pool = losses.class_weights("labelled", counts)
    assert (labelled.tolist(), pool.tolist()) == ([0.25, 0.75], [0.5, 0.5])
    labelled, pool = losses.class_weights("none", counts)
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


def test_the_weighted_mean_is_torchs_cross_entropy_with_weights():
    torch.manual_seed(0)
    logits, codes, weights = torch.randn(8, 3), torch.arange(8) % 3, torch.tensor([0.2, 0.3, 0.5])
    theirs = torch.nn.CrossEntropyLoss(weight=weights)(logits, codes)
    targets = torch.nn.functional.one_hot(codes, 3).float()
    torch.testing.assert_close(losses.weighted_mean_cross_entropy(logits, targets, weights), theirs)
    torch.testing.assert_close(
        losses.weighted_mean_cross_entropy(logits, targets, 7 * weights), theirs
    )


def test_the_weight_of_the_largest_target_multiplies_all_outputs_and_targets_of_its_row():
    """((0.2 (1 - 0.5))^2 + (0.2 (0 - 0.5))^2) / 2, and the same with 0.8 for the other class."""
    weights, targets = torch.tensor([0.2, 0.8]), torch.eye(2)
    rows = losses.squared_error_rows(EVEN.repeat(2, 1), targets, weights.square())
    assert rows.tolist() == pytest.approx([0.01, 0.16])


def test_the_authors_loss_weighs_the_pool_a_ninth_of_the_texts(data, quick):
    """Three equal weights of 1 / 3: they cancel in one loss and are squared in the other."""
    code = {"hard_targets": True, "weighted_mean": True, "squared_pool_weights": True}
    options = quick | {"algorithm": "mixmatch", "updates": 1, "epochs": 1, "learning_rate": 1e-9}
    text, code = (
        train(*data, **options, settings={"balanced": "both", "mixup": False, **own}).record.epochs[
            0
        ]
        for own in ({}, code)
    )
    assert code.loss_labelled == pytest.approx(3 * text.loss_labelled, rel=1e-5)
    assert code.loss_unlabelled == pytest.approx(text.loss_unlabelled / 3, rel=1e-5)


def test_aligned_guesses_are_worked_by_hand():
    """Means 0.7 and 0.3 against equal shares: each row is divided by them and normalised."""
    guesses = torch.tensor([[0.8, 0.2], [0.6, 0.4]])
    found = losses.aligned(guesses, torch.tensor([0.5, 0.5]))
    first, second = 0.8 / 0.7, 0.2 / 0.3
    assert found[0].tolist() == pytest.approx([first / (first + second), second / (first + second)])
    even = torch.tensor([[0.9, 0.1], [0.1, 0.9]])
    assert torch.allclose(losses.aligned(even, torch.tensor([0.5, 0.5])), even)


def test_the_threshold_of_a_rare_class_is_lower():
    """Mean confidence 0.75; the second class is guessed half as often as the first."""
    guesses = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.7, 0.3]])
    common, rare = 0.75, 0.75 * 0.3 / 0.7
    expected = pytest.approx([common, common, rare, common])
    assert adaptive_thresholds(guesses).tolist() == expected
