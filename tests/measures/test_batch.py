"""Leaving groups out quickly is the same as measuring what is left."""

import numpy as np
import pytest

from mixmood.core.errors import ShapeError
from mixmood.measures.batch import Grouped, left_out_distances
from mixmood.measures.registry import MEASURES, Measure, compare


def grouped(rng, n, n_groups, shift=0.0, width=9):
    rows = np.maximum(rng.normal(shift, size=(n, width)), 0).astype(np.float32)
    return Grouped(rows, rng.permutation(n) % n_groups)


def plain(x, others, n_groups, names, overflow):
    first, *rest = (sample.kept(n_groups) for sample in (x, *others))
    return np.stack(
        [
            compare(
                x.rows[first[group]],
                [other.rows[kept[group]] for other, kept in zip(others, rest, strict=True)],
                names,
                overflow,
            )
            for group in range(n_groups)
        ],
        axis=-1,
    )


@pytest.mark.parametrize("overflow", ["count", "drop"])
def test_it_is_what_comparing_the_rows_that_are_left_gives(rng, overflow):
    x, others = grouped(rng, 31, 7), [grouped(rng, 20, 7, 0.5), grouped(rng, 44, 7, 2.0)]
    names = list(MEASURES)
    fast = left_out_distances(x, others, 7, names, overflow)
    assert fast == pytest.approx(plain(x, others, 7, names, overflow), rel=1e-9, abs=1e-9)


def test_a_group_that_holds_the_extremes_takes_the_range_with_it(rng):
    x, y = grouped(rng, 12, 3), grouped(rng, 12, 3)
    x.rows[x.groups == 1] *= 9
    names = ["cosine", "js"]
    fast = left_out_distances(x, [y], 3, names)
    assert fast == pytest.approx(plain(x, [y], 3, names, "count"), rel=1e-12)


def test_a_constant_feature_and_one_that_becomes_constant_are_no_trouble(rng):
    x, y = grouped(rng, 8, 4), grouped(rng, 8, 4)
    x.rows[:, 0] = 3.0
    x.rows[:, 1] = np.where(x.groups == 2, 5.0, 1.0)
    fast = left_out_distances(x, [y], 4, ["cosine", "js", "l1"])
    assert np.isfinite(fast).all()
    assert fast == pytest.approx(plain(x, [y], 4, ["cosine", "js", "l1"], "count"), rel=1e-9)


def test_a_sample_of_one_group_stays_whole_rather_than_empty(rng):
    x, y = grouped(rng, 6, 3), Grouped(rng.normal(size=(2, 9)), np.array([1, 1]))
    fast = left_out_distances(x, [y], 3, ["cosine", "l2"])
    without_1 = compare(x.rows[x.groups != 1], [y.rows], ["cosine", "l2"])
    assert fast[:, :, 1] == pytest.approx(without_1)


def test_a_measure_of_ones_own_is_asked_for_each_group(rng, monkeypatch):
    monkeypatch.setitem(MEASURES, "gap", Measure(lambda x, y: float(abs(x.mean() - y.mean()))))
    x, y = grouped(rng, 10, 5), grouped(rng, 10, 5, 1.0)
    fast = left_out_distances(x, [y], 5, ["gap"])
    assert fast == pytest.approx(plain(x, [y], 5, ["gap"], "count"))


def test_samples_of_different_widths_are_refused(rng):
    with pytest.raises(ShapeError, match="features a row; got 4"):
        left_out_distances(grouped(rng, 9, 3), [grouped(rng, 9, 3, width=4)], 3, ["cosine"])


def test_large_samples_are_counted_exactly(rng):
    """Squares of counts beyond 16 million do not fit single floats."""
    x, y = grouped(rng, 5000, 3, width=2), grouped(rng, 4200, 3, 0.1, width=2)
    x.rows[:, 0] = np.where(rng.random(5000) < 0.001, 1.0, 0.0)
    y.rows[:, 0] = np.where(rng.random(4200) < 0.001, 1.0, 0.0)
    fast = left_out_distances(x, [y], 3, ["cosine"])
    assert fast == pytest.approx(plain(x, [y], 3, ["cosine"], "count"), rel=1e-9)


def test_groups_that_a_sample_has_no_rows_of_change_nothing_there(rng):
    x = Grouped(rng.normal(size=(9, 4)), np.array([0, 0, 0, 2, 2, 2, 5, 5, 5]))
    y = Grouped(rng.normal(size=(6, 4)), np.array([5, 1, 1, 1, 5, 2]))
    fast = left_out_distances(x, [y], 7, ["cosine"])
    assert fast == pytest.approx(plain(x, [y], 7, ["cosine"], "count"))
    assert fast[0, 0, 3] == pytest.approx(compare(x.rows, [y.rows], ["cosine"])[0, 0])
