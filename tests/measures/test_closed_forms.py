"""The measures that look at whole rows, against values worked by hand and against limits."""

import numpy as np
import pytest

from mixmood.core.errors import ShapeError
from mixmood.measures.classifier import classifier_distance
from mixmood.measures.energy import energy_distance
from mixmood.measures.frechet import frechet_distance
from mixmood.measures.kernel import kernel_distance
from mixmood.measures.pairs import euclidean_distances, pair_distances
from mixmood.measures.sliced_wasserstein import random_directions, sliced_wasserstein_distance
from mixmood.measures.typicality import typicality_distance


@pytest.mark.parametrize(("n", "d"), [(30, 5), (8, 40)])
def test_a_shift_alone_has_the_squared_length_of_the_shift_as_frechet_distance(n, d, rng):
    x, shift = rng.normal(size=(n, d)), rng.normal(size=d)
    assert frechet_distance(x, x + shift) == pytest.approx(shift @ shift, rel=1e-9)


@pytest.mark.parametrize(("n", "d"), [(30, 5), (8, 40)])
def test_a_stretch_about_the_mean_leaves_the_difference_of_deviations(n, d, rng):
    """Deviations s and 3 s along every axis: sum (3 s - s)^2 = 4 tr S."""
    x = rng.normal(size=(n, d))
    stretched = x.mean(axis=0) + 3 * (x - x.mean(axis=0))
    assert frechet_distance(x, stretched) == pytest.approx(4 * np.trace(np.cov(x.T)), rel=1e-9)


def test_single_rows_have_no_covariance():
    assert frechet_distance(np.zeros((1, 3)), np.full((1, 3), 2.0)) == pytest.approx(12.0)


def test_kernel_distance_of_two_points_is_that_of_the_kernel():
    """k(0, 0) + k(2, 2) - 2 k(0, 2) = 1 + 5^3 - 2 with a . b / d = 4."""
    x, y = np.zeros((3, 2)), np.full((2, 2), 2.0)
    assert kernel_distance(x, y) == pytest.approx(1 + 125 - 2)


def test_kernel_distance_beyond_the_largest_number_is_refused():
    with pytest.raises(ShapeError, match="as large as 1e\\+80 is beyond the largest number"):
        kernel_distance(np.full((2, 2), 1e80), np.zeros((2, 2)))


def test_energy_distance_of_two_points_is_twice_their_distance():
    assert energy_distance(np.zeros((4, 2)), np.array([[3.0, 4.0]])) == pytest.approx(10.0)


def test_pairs_that_cancel_in_the_matrix_product_are_measured_one_by_one(rng):
    """|a|^2 - 2 a.b + |b|^2 has no correct digit for rows that differ by 1e-9 of their length."""
    rows = rng.normal(size=(40, 6))
    rows[20:30] = rows[:10] + 1e-9
    expected = pair_distances(rows, rows, "euclidean")
    assert euclidean_distances(rows) == pytest.approx(expected, rel=1e-6, abs=1e-14)
    copies = np.repeat(rows[:2], 20, axis=0)
    expected = pair_distances(copies, copies, "euclidean")
    assert euclidean_distances(copies) == pytest.approx(expected, rel=1e-9)


def test_a_shift_moves_every_projection_by_its_part_of_the_shift(rng):
    x, shift = rng.normal(size=(9, 7)), rng.normal(size=7)
    expected = np.abs(shift @ random_directions(7)).mean()
    assert sliced_wasserstein_distance(x, x + shift) == pytest.approx(expected, rel=1e-9)


def test_directions_have_length_one_and_are_always_the_same():
    assert np.linalg.norm(random_directions(12), axis=0) == pytest.approx(np.ones(64))
    first = random_directions(12).copy()
    random_directions.cache_clear()
    assert np.array_equal(first, random_directions(12))


def test_samples_far_apart_are_told_apart_without_error(rng):
    assert classifier_distance(rng.normal(size=(9, 40)), rng.normal(9, size=(14, 40))) == 1.0


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_the_classifier_gives_the_share_of_a_pool_that_is_foreign(share, rng):
    """The foreign part is told apart without error, the rest is ordered by chance."""
    found = []
    for _ in range(20):
        pool = rng.normal(size=(80, 10))
        pool[: int(80 * share), 0] += 30
        found.append(classifier_distance(rng.normal(size=(80, 10)), pool))
    assert np.mean(found) == pytest.approx(share, abs=0.06)


def test_rows_that_are_all_equal_cannot_be_told_apart():
    assert classifier_distance(np.ones((5, 3)), np.ones((4, 3))) == 0.0


def test_leaving_pairs_out_has_no_bias_below_one_half_with_few_rows(rng):
    """A fold with more of one kind leaves fewer of it to fit, and would be ranked too low."""
    found = [
        classifier_distance(rng.normal(size=(3, 50)), rng.normal(size=(4, 50))) for _ in range(900)
    ]
    assert abs(np.mean(found)) < 3 * np.std(found) / 30


def test_typicality_asks_the_second_sample_not_the_first():
    """Every row of y has a neighbour in x at 0; that a row of x has none does not matter."""
    x, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[2.0, 0.0]])
    assert typicality_distance(np.repeat(x, 5, axis=0), y) == 0.0
    assert typicality_distance(np.repeat(y, 5, axis=0), x) == pytest.approx(0.5)


def test_opposite_rows_are_at_two_and_a_row_of_zeros_at_one():
    x = np.array([[1.0, 1.0]])
    assert typicality_distance(x, -x) == pytest.approx(2.0)
    assert typicality_distance(x, np.zeros((3, 2))) == 1.0
