"""Products that are computed once give the cosines about any centre."""

import numpy as np
import pytest

from mixmood.numerics.neighbours import unit_rows
from mixmood.scores.fitting.compared import compared_rows
from mixmood.scores.fitting.roots import roots
from mixmood.scores.registry import fit_score


def test_the_cosines_are_those_of_unit_rows_about_the_mean_of_the_pool(rng):
    labelled, pool = rng.normal(size=(7, 5)) + 4, rng.normal(size=(11, 5)) + 4
    found = compared_rows(labelled, pool)
    centre = roots(pool).mean(axis=0)
    units = unit_rows(roots(np.concatenate([labelled, pool])), centre)
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
