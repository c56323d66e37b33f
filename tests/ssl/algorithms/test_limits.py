"""Where an algorithm must equal a simpler one."""

import numpy as np
import pytest
import torch

from mixmood.ssl.algorithms.consistency import MixMatch, average_views, mixed
from mixmood.ssl.algorithms.losses import sharpen
from mixmood.ssl.algorithms.registry import ALGORITHMS
from mixmood.ssl.train import train


def weights(trained):
    return torch.cat([p.detach().flatten() for p in trained.model.parameters()])


SUPERVISED_LIMITS = [
    ("mixmatch", {"gamma": 0.0, "mixup": False}),
    # So small a gamma is computed in full, and changes nothing that a float can hold.
    ("mixmatch", {"gamma": 1e-30, "mixup": False, "batch_norm": "separate"}),
]


@pytest.mark.parametrize(("algorithm", "settings"), SUPERVISED_LIMITS)
def test_mixmatch_without_weight_and_mixing_is_supervised_training(
    data, quick, algorithm, settings
):
    quick |= {"augment": "paper"}
    expected = train(*data, algorithm="supervised", **quick)
    limit = train(*data, algorithm=algorithm, settings=settings, **quick)
    assert torch.allclose(weights(limit), weights(expected), atol=1e-6)
    for ours, theirs in zip(limit.record.epochs, expected.record.epochs, strict=True):
        assert ours.test_accuracy == theirs.test_accuracy
        assert ours.loss_labelled == pytest.approx(theirs.loss_labelled, abs=1e-6)


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "supervised"])
def test_a_pool_without_weight_adds_nothing_to_the_loss(data, quick, algorithm):
    record = train(*data, algorithm=algorithm, settings={"gamma": 0.0}, **quick).record
    for epoch in record.epochs:
        assert epoch.loss == pytest.approx(epoch.loss_labelled)


def test_identical_views_guess_what_one_view_guesses():
    one = torch.tensor([[0.7, 0.3], [0.2, 0.8]])
    assert torch.allclose(average_views(one.repeat(3, 1), 3), one)


def test_the_mean_of_views_is_taken_image_by_image():
    views = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    assert average_views(views, 2).tolist() == [[0.5, 0.5], [0.0, 1.0]]


def test_training_on_identical_views_is_training_on_one(data, quick):
    """Without mixing, repeated rows leave means and batch statistics as they are."""
    one, three = (
        train(*data, settings={"views": views, "mixup": False, "batch_norm": "separate"}, **quick)
        for views in (1, 3)
    )
    assert torch.allclose(weights(one), weights(three), atol=1e-3)
    assert one.record.epochs[0].loss == pytest.approx(three.record.epochs[0].loss, abs=1e-4)


def test_sharp_guesses_are_one_hot_at_the_lowest_temperature():
    guesses = torch.tensor([[0.4, 0.6]])
    assert sharpen(guesses, MixMatch(temperature=1e-6).temperature).tolist() == [[0.0, 1.0]]


def test_mixing_is_worked_by_hand():
    """Three quarters of oneself and one quarter of the other."""
    images, targets = torch.tensor([0.0, 8.0]).view(2, 1, 1, 1), torch.eye(2)
    mixed_images, mixed_targets = mixed(images, targets, torch.tensor([1, 0]), torch.tensor([0.75]))
    assert mixed_images.flatten().tolist() == [2.0, 6.0]
    assert mixed_targets.tolist() == [[0.75, 0.25], [0.25, 0.75]]


def test_a_share_for_each_row_mixes_rows_by_their_own():
    images = torch.tensor([0.0, 8.0]).view(2, 1, 1, 1)
    mixed_images, _ = mixed(images, torch.eye(2), torch.tensor([1, 0]), torch.tensor([1.0, 0.5]))
    assert mixed_images.flatten().tolist() == [0.0, 4.0]


@pytest.mark.parametrize("per_sample", [False, True])
def test_an_image_keeps_at_least_half_of_itself(per_sample):
    settings = MixMatch(per_sample_lambda=per_sample)
    targets = torch.eye(20)
    _, mixed_targets = settings._mix(torch.zeros(20, 1, 1, 1), targets, np.random.default_rng(0))
    kept = mixed_targets.diagonal()
    assert (kept >= 0.5).all()
    assert torch.allclose(mixed_targets.sum(1), torch.ones(20))
    assert per_sample == (len(kept[kept < 1].unique()) > 1)


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "supervised"])
def test_a_mask_that_drops_everything_leaves_the_labelled_loss(data, quick, algorithm):
    epoch = train(*data, algorithm=algorithm, settings={"ood_mask": 1.0}, **quick).record.epochs[0]
    assert epoch.share_dropped == 1.0
    assert epoch.loss_unlabelled == 0.0
    assert epoch.loss == pytest.approx(epoch.loss_labelled)


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "supervised"])
def test_a_mask_that_drops_nothing_changes_nothing(data, quick, algorithm):
    masked, free = (
        train(*data, algorithm=algorithm, settings={"ood_mask": mask}, **quick)
        for mask in (0.0, None)
    )
    assert torch.equal(weights(masked), weights(free))
    assert masked.record.epochs[0].share_dropped == 0.0
    assert free.record.epochs[0].share_dropped is None
