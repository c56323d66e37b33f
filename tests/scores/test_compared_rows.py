"""Products that are computed once give the cosines about any centre."""

import numpy as np
import pytest

from mixmood.numerics.neighbours import unit_rows
from mixmood.scores.fitting.compared import compared_rows
from mixmood.scores.fitting.roots import roots


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


def test_a_row_at_the_centre_has_no_cosine():
    """Rounding must not turn a row of zeros into a direction."""
    assert (compared_rows(np.ones((3, 4)) * 7, np.full((9, 4), 0.3)).cosines[3:] == 0).all()
