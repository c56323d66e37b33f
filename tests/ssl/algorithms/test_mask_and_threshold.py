"""What masked images and unsure guesses may touch, and what is said about them."""

import numpy as np
import pytest
import torch

from mixmood.ssl.algorithms.consistency import MixMatch, may_be_mixed, partners_within
from mixmood.ssl.train import train


def test_partners_of_labelled_and_kept_rows_are_labelled_or_kept():
    rng = np.random.default_rng(0)
    for _ in range(50):
        may_mix = torch.from_numpy(rng.random(20) < 0.5)
        partners = partners_within(torch.from_numpy(rng.permutation(20)), may_mix)
        assert sorted(partners.tolist()) == list(range(20))
        assert torch.equal(may_mix[partners], may_mix)


def test_all_views_of_a_kept_image_may_be_mixed():
    found = may_be_mixed(2, torch.tensor([True, False]), views=2)
    assert found.tolist() == [True, True, True, False, True, False]


def test_with_the_whole_pool_masked_out_labelled_images_mix_among_themselves():
    """A pool of other brightness would show in the mixed labelled images."""
    images = torch.cat([torch.zeros(4, 1, 1, 1), torch.full((8, 1, 1, 1), 100.0)])
    may_mix = may_be_mixed(4, torch.zeros(4, dtype=torch.bool), views=2)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        mixed, _ = MixMatch()._mix(images, torch.zeros(12, 2), rng, may_mix)
        assert (mixed[:4] == 0).all()


def test_a_masked_pool_does_not_change_the_labelled_loss_of_an_update(data, quick):
    """With batch statistics apart, all that the pool could touch is the mixing."""
    settings = {"ood_mask": 1.0, "batch_norm": "separate"}
    quick |= {"updates": 1, "epochs": 1}
    dark, bright = (
        train(*data[:2], np.full_like(data[2], value), *data[3:], settings=settings, **quick)
        for value in (0, 255)
    )
    assert dark.record.epochs[0].loss_labelled == bright.record.epochs[0].loss_labelled


@pytest.mark.parametrize("algorithm", ["pseudo-label", "fixmatch"])
def test_the_share_of_confident_guesses_is_recorded(data, quick, algorithm):
    settings = [{"threshold": 1.0}, {"threshold": 0.0}]
    never, always = (
        train(*data, algorithm=algorithm, settings=s, **quick).record.epochs[-1] for s in settings
    )
    assert (never.share_sure, always.share_sure) == (0.0, 1.0)
    assert never.loss_unlabelled == 0.0
    assert train(*data, **quick).record.epochs[-1].share_sure is None


def test_fixmatch_sees_so_many_unlabelled_images_for_each_labelled_one(data, quick):
    """Forty images in the pool: a pass is 7 updates of 6, or 3 of 18."""
    quick |= {"updates": None, "epochs": 1, "algorithm": "fixmatch"}
    records = [
        train(*data, settings={"unlabelled_ratio": ratio}, **quick).record for ratio in (1, 3)
    ]
    assert [record.configuration["updates"] for record in records] == [7, 3]
    assert np.isfinite(records[1].epochs[0].loss)
