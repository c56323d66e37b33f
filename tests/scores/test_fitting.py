"""Typicality, nearest images, and folds that follow from content."""

import numpy as np
import pytest

from mixmood.core.errors import OptionError
from mixmood.numerics.neighbours import unit_rows
from mixmood.scores.fitting import (
    best_n_folds,
    compared_rows,
    folds_by_content,
    labelled_share,
    pool_folds,
    row_positions,
    signed_roots,
    typical_threshold,
)
from mixmood.scores.registry import fit_score


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


def test_the_cosines_are_those_of_unit_rows_about_the_mean_of_the_pool(rng):
    labelled, pool = rng.normal(size=(7, 5)) + 4, rng.normal(size=(11, 5)) + 4
    found = compared_rows(labelled, pool)
    centre = signed_roots(pool).mean(axis=0)
    units = unit_rows(signed_roots(np.concatenate([labelled, pool])), centre)
    assert found.centre == pytest.approx(centre)
    assert found.cosines == pytest.approx(units @ units.T, abs=1e-12)
    assert found.labelled_units == pytest.approx(units[:7])


def test_a_part_has_the_centre_of_its_own_pool(rng):
    labelled, pool = rng.normal(size=(7, 5)) + 4, rng.normal(size=(11, 5)) + 4
    part = compared_rows(labelled, pool).part(np.array([0, 2, 3]), np.array([6, 7, 12]))
    fresh = compared_rows(labelled[[0, 2, 3]], np.stack([labelled[6], pool[0], pool[5]]))
    assert part.centre == pytest.approx(fresh.centre)
    assert part.cosines == pytest.approx(fresh.cosines, abs=1e-12)


def test_copies_of_one_image_have_no_cosines(rng):
    """Their mean differs from them by rounding, which must not become a direction."""
    pool = np.repeat(rng.normal(size=(1, 40)), 60, axis=0)
    found = compared_rows(rng.normal(size=(3, 40)), pool)
    assert (found.cosines[3:] == 0).all()
    assert np.abs(found.cosines).max() <= 1 + 1e-9
    assert np.isfinite(found.labelled_units).all()


@pytest.mark.parametrize("family", ["classifier", "combined"])
def test_a_pool_of_copies_of_one_image_gets_one_score(family, rng):
    labelled, pool = rng.normal(size=(30, 40)), np.repeat(rng.normal(size=(1, 40)), 60, axis=0)
    scores = fit_score(labelled, pool, None, family).fit.pool
    assert np.isfinite(scores).all()
