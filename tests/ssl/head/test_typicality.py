"""The threshold of `none of these` keeps 95 % of images like the labelled ones."""

import numpy as np
import pytest

from mixmood.ssl.head_model import fit_typicality


def test_of_further_images_of_the_same_kind_five_percent_are_refused():
    rng = np.random.default_rng(0)
    refused = []
    for _ in range(60):
        labelled, further = rng.normal(size=(59, 8)) + 2, rng.normal(size=(50, 8)) + 2
        fitted = fit_typicality(labelled, rng)
        refused.append((fitted(further) < fitted.threshold).mean())
    assert 0.03 < np.mean(refused) < 0.06


def test_strange_images_are_refused():
    rng = np.random.default_rng(0)
    fitted = fit_typicality(rng.normal(size=(60, 8)) + 4, rng)
    assert (fitted(rng.normal(size=(50, 8)) - 4) < fitted.threshold).all()


def test_too_few_images_refuse_nothing():
    rng = np.random.default_rng(0)
    assert fit_typicality(rng.normal(size=(18, 4)), rng).threshold is None
    assert fit_typicality(rng.normal(size=(1, 4)), rng).threshold is None


def test_images_of_one_group_do_not_vouch_for_each_other():
    """Copies within a group would raise the threshold to 1."""
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.normal(size=(20, 8)) + 1, 2, axis=0)
    groups = np.repeat(np.arange(20), 2)
    assert fit_typicality(rows, rng).threshold > 0.6
    assert fit_typicality(rows, rng, groups).threshold < fit_typicality(rows, rng).threshold


def test_a_value_is_the_mean_of_the_three_largest_cosines():
    """Roots of unit rows: the nearest cosines are 1, 0.5 and 0.5."""
    rows = np.array([[1.0, 0, 0, 0], [1, 1, 1, 1], [1, -1, 1, 1], [0, 1, 0, 0]])
    fitted = fit_typicality(rows, np.random.default_rng(0))
    assert fitted(np.array([[2.0, 0, 0, 0]]))[0] == pytest.approx((1 + 0.5 + 0.5) / 3, rel=1e-6)
