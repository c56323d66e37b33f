"""Every measure against a plain loop over a library, and against values worked by hand."""

import tracemalloc
from itertools import permutations, product

import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.spatial import distance
from scipy.stats import wasserstein_distance
from sklearn.linear_model import Ridge

from mixmood.core.errors import OptionError
from mixmood.measures import MEASURES
from mixmood.measures.classifier import PENALTY
from mixmood.measures.cosine import cosine_distance
from mixmood.measures.histogram import Bins
from mixmood.measures.js import js_distance
from mixmood.measures.minkowski import l1_distance, l2_distance
from mixmood.measures.registry import PAPER
from mixmood.measures.sliced_wasserstein import random_directions


def nearest_loop(x, y, metric):
    return np.mean([min(metric(a, b) for b in y) for a in x])


def histogram_loop(x, y, between):
    total = 0.0
    for a, b in zip(x.T, y.T, strict=True):
        low, high = a.min(), a.max()
        p = np.r_[0, np.histogram(a, 15, (low, high))[0], 0]
        q = np.r_[(b < low).sum(), np.histogram(b, 15, (low, high))[0], (b > high).sum()]
        total += between(p / p.sum(), q / q.sum())
    return total


def frechet_loop(x, y):
    covariances = np.cov(x.T), np.cov(y.T)
    # Not of full rank with few rows: then the root of the product needs its real part.
    root = sqrtm(covariances[0] @ covariances[1]).real
    shift = np.square(x.mean(0) - y.mean(0)).sum()
    return shift + np.trace(covariances[0] + covariances[1] - 2 * root)


def kernel_loop(x, y):
    def k(a, b):
        return (a @ b / len(a) + 1) ** 3

    within = [np.mean([k(a, b) for a, b in permutations(sample, 2)]) for sample in (x, y)]
    return sum(within) - 2 * np.mean([k(a, b) for a in x for b in y])


def energy_loop(x, y):
    cross, own_x, own_y = (distance.cdist(*pair).mean() for pair in ((x, y), (x, x), (y, y)))
    return 2 * cross - own_x - own_y


def sliced_wasserstein_loop(x, y):
    along = [wasserstein_distance(x @ u, y @ u) for u in random_directions(x.shape[1]).T]
    return np.mean(along)


def classifier_loop(x, y):
    """Scikit-learn's ridge regression, fitted again for every pair that is left out."""
    rows = np.concatenate([x, y])
    penalty = PENALTY * np.square(rows - rows.mean(0)).sum() / len(rows)
    targets = np.r_[np.ones(len(x)), -np.ones(len(y))]
    signs = []
    for i, j in product(range(len(x)), range(len(x), len(rows))):
        kept = np.delete(np.arange(len(rows)), [i, j])
        ridge = Ridge(penalty).fit(rows[kept], targets[kept])
        signs.append(np.sign(np.subtract(*ridge.predict(rows[[i, j]]))))
    return np.mean(signs)


def typicality_loop(x, y):
    return np.mean([sorted(distance.cosine(a, b) for a in x)[:5] for b in y])


LOOPS = {
    "l1": lambda x, y: nearest_loop(x, y, distance.cityblock),
    "l2": lambda x, y: nearest_loop(x, y, distance.euclidean),
    "js": lambda x, y: histogram_loop(x, y, distance.jensenshannon),
    "cosine": lambda x, y: histogram_loop(x, y, distance.cosine),
    "frechet": frechet_loop,
    "kernel": kernel_loop,
    "energy": energy_loop,
    "sliced-wasserstein": sliced_wasserstein_loop,
    "classifier": classifier_loop,
    "typicality": typicality_loop,
}
TOLERANCES = {"frechet": 1e-6}
"""A root of rounding errors is as large as this in scipy's root of a product without full rank."""


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize(("n", "m", "d"), [(20, 25, 30), (12, 20, 8), (10, 14, 60)])
def test_a_measure_equals_a_plain_loop_over_a_library(name, n, m, d, rng):
    x = np.maximum(rng.normal(size=(n, d)), 0)  # half of the values are exactly 0, as after ReLU
    y = np.maximum(rng.normal(0.2, 1.2, size=(m, d)), 0)
    expected = pytest.approx(LOOPS[name](x, y), rel=TOLERANCES.get(name, 1e-9))
    assert MEASURES[name](x, y) == expected


@pytest.mark.parametrize("name", PAPER)
def test_whole_numbers_that_lie_on_the_edges_of_bins_fall_where_numpy_puts_them(name, rng):
    x, y = rng.integers(0, 16, (60, 10)).astype(float), rng.integers(-3, 20, (50, 10)).astype(float)
    assert MEASURES[name](x, y) == pytest.approx(LOOPS[name](x, y), rel=1e-9)


def test_l2_finds_the_nearest_of_rows_that_are_almost_the_same():
    """Far from the origin |x|^2 - 2xy + |y|^2 cancels: it cannot tell these distances apart."""
    x = np.full((3, 4), 1e6)
    y = np.array([x[0] + 1e-3, x[0] + 2e-3, x[0] + 5.0])
    assert l2_distance(x, y) == pytest.approx(2e-3, rel=1e-4)


@pytest.mark.parametrize("factor", [2.0**1000, 2.0**-1000, -(2.0**600)])
def test_l1_of_numbers_whose_squares_leave_the_range_is_right_to_the_last_digit(factor, rng):
    x, y = rng.normal(size=(20, 5)), rng.normal(size=(30, 5))
    assert l1_distance(factor * x, factor * y) == abs(factor) * l1_distance(x, y)


def test_l2_sees_the_small_beside_the_huge():
    x, y = np.array([[1e-15], [1e150]]), np.array([[0.0], [1e150]])
    assert l2_distance(x, y) == pytest.approx(5e-16, rel=1e-12)


def test_a_distance_beyond_the_largest_number_is_infinite():
    assert l2_distance(np.full((2, 9), 1e308), np.full((2, 9), -1e308)) == np.inf


def test_a_pool_of_copies_takes_no_more_memory_than_its_distances():
    x = np.ones((400, 200))
    tracemalloc.start()
    try:
        assert l2_distance(x, x + 3) == pytest.approx(3 * np.sqrt(200))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 12 * 400 * 400 * 8


def test_a_row_that_is_also_in_the_other_sample_is_at_distance_zero(rng):
    y = rng.normal(size=(50, 8)) + 100
    assert l2_distance(y[:5], y) == 0.0
    assert l1_distance(y[:5], y) == 0.0


def test_samples_that_share_no_bin_reach_the_upper_limits():
    x, y = np.zeros((5, 3)) + np.arange(5)[:, None], np.full((4, 3), 99.0)
    assert js_distance(x, y) == pytest.approx(3 * np.sqrt(np.log(2)))
    assert cosine_distance(x, y) == pytest.approx(3.0)


def test_half_of_the_values_in_the_same_bin_gives_the_worked_value():
    """p = (1, 0), q = (1/2, 1/2): cosine 1 - 1/sqrt(2); JS from m = (3/4, 1/4)."""
    x, y = np.zeros((4, 1)), np.array([[0.0], [0.0], [7.0], [7.0]])
    assert cosine_distance(x, y) == pytest.approx(1 - 1 / np.sqrt(2))
    divergence = (np.log(4 / 3) + 0.5 * np.log(2 / 3) + 0.5 * np.log(2)) / 2
    assert js_distance(x, y) == pytest.approx(np.sqrt(divergence))


def test_a_constant_feature_has_one_bin_and_everything_else_lies_outside():
    x = np.full((6, 1), 3.0)
    assert cosine_distance(x, x) == 0.0
    assert cosine_distance(x, x + 1e-9) == 1.0
    assert cosine_distance(x, x - 1e-9) == 1.0


def test_a_range_too_small_to_divide_counts_as_constant():
    x = np.array([[0.0], [5e-324]])
    assert np.isfinite(cosine_distance(x, x))
    assert np.isfinite(js_distance(x, np.array([[1.0]])))


@pytest.mark.parametrize("measure", [js_distance, cosine_distance])
def test_dropping_outer_values_forgets_them(measure):
    x = np.arange(8.0)[:, None]
    y = np.concatenate([x, np.full((8, 1), 99.0)])
    assert measure(x, y, overflow="drop") == pytest.approx(0.0, abs=1e-9)
    assert measure(x, y, overflow="count") > 0.1


def test_a_histogram_left_empty_by_dropping_is_as_far_as_can_be():
    x, y = np.arange(8.0)[:, None], np.full((8, 1), 99.0)
    assert cosine_distance(x, y, overflow="drop") == 1.0
    assert js_distance(x, y, overflow="drop") == pytest.approx(np.sqrt(np.log(2)))


def test_one_bin_cannot_tell_anything_inside_the_range():
    x, y = np.arange(10.0)[:, None], np.full((5, 1), 3.0)
    assert cosine_distance(x, y, bins=1) == pytest.approx(0.0)


def test_no_bins_and_an_unknown_overflow_are_refused():
    x = np.zeros((3, 2))
    with pytest.raises(OptionError, match="bins must be at least 1; got 0"):
        js_distance(x, x, bins=0)
    with pytest.raises(OptionError, match="overflow must be 'count' or 'drop'; got 'clip'"):
        js_distance(x, x, overflow="clip")


def test_shares_add_up_to_one_for_every_feature(rng):
    x, y = rng.normal(size=(30, 6)), rng.normal(2, 3, size=(17, 6))
    assert Bins.over(x, 15).shares(y, "count").sum(axis=1) == pytest.approx(np.ones(6))
    assert Bins.over(x, 15).shares(x, "count")[:, [0, -1]].sum() == 0
