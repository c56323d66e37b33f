"""Typicality, nearest images, and folds that follow from content."""

import numpy as np
import pytest

from mixmood.core.errors import OptionError
from mixmood.scores.fitting.content_folds import (
    best_n_folds,
    folds_by_content,
    pool_folds,
    row_positions,
)
from mixmood.scores.labelled_scale import labelled_share, typical_threshold


def test_images_drawn_like_the_labelled_ones_have_even_typicality():
    rng = np.random.default_rng(0)
    values = labelled_share(rng.normal(size=400), rng.normal(size=4000))
    assert np.quantile(values, [0.25, 0.5, 0.75]) == pytest.approx([0.25, 0.5, 0.75], abs=0.06)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95, 1.0])
def test_the_threshold_is_reached_by_that_share_of_the_labelled_images(share):
    scores = np.random.default_rng(0).normal(size=100)
    assert (scores >= typical_threshold(scores, share)).mean() == pytest.approx(share)


def test_a_share_outside_0_to_1_is_refused():
    with pytest.raises(
        OptionError, match=r"The share of labelled images must be in \(0, 1\]; got 1\.5"
    ):
        typical_threshold(np.ones(3), 1.5)


@pytest.mark.parametrize("width", [2, 3, 1280])
def test_positions_are_evenly_spread_and_belong_to_the_direction_of_a_row(width, rng):
    rows = rng.normal(size=(2000, width))
    positions = row_positions(rows)
    assert row_positions(rows * 4.0).tolist() == positions.tolist()
    assert row_positions(rows[7:9]).tolist() == positions[7:9].tolist()
    if width > 2:
        assert np.bincount((positions * 5).astype(int)) / 2000 == pytest.approx(0.2, abs=0.05)
    assert pool_folds(rows, 6).max() <= 5


def test_every_class_is_spread_evenly_over_the_folds(rng):
    labels = np.repeat(np.arange(4), 12)
    folds = folds_by_content(rng.normal(size=(48, 6)), labels)
    for code in range(4):
        assert np.bincount(folds[labels == code]).tolist() == [2] * 6


def test_without_labels_groups_of_similar_images_are_spread_over_the_folds(rng):
    centres = rng.normal(size=(8, 10)) * 20
    folds = folds_by_content(np.repeat(centres, 20, axis=0) + rng.normal(size=(160, 10)), None)
    for group in range(8):
        assert np.bincount(folds[group * 20 : group * 20 + 20]).max() == 2


def test_two_images_make_two_folds():
    assert best_n_folds(np.array([1, 1])) == 2
