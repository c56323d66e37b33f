"""What holds for every measure, and the laws that some of them obey."""

import numpy as np
import pytest

from mixmood.core.errors import InputError, ShapeError
from mixmood.measures import MEASURES

every_measure = pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES.keys())


# Exchanging x and y does not change the value.
SYMMETRIC = ("frechet", "kernel", "energy", "sliced-wasserstein", "classifier")
MAY_BE_NEGATIVE = ("kernel", "classifier")
NOT_ZERO_FOR_EQUAL_SAMPLES = ("kernel", "classifier", "typicality")
# Scaling and shifting a feature in both samples alike does not change the value.
SCALE_INVARIANT = ("js", "cosine")
NOT_SHIFT_INVARIANT = ("kernel", "typicality")
# Only the directions of the rows count.
ANGULAR = ("typicality",)
DEPEND_ON_FEATURE_ORDER = ("sliced-wasserstein",)
# Multiplying both samples by c > 0 multiplies the value by c to this power.
POWERS = {"l1": 1, "l2": 1, "js": 0, "cosine": 0, "frechet": 2, "energy": 1}
POWERS |= {"sliced-wasserstein": 1, "classifier": 0, "typicality": 0}


def those(names):
    """Some measures, by name."""
    return pytest.mark.parametrize("measure", [MEASURES[name] for name in names], ids=list(names))


def all_but(names):
    """The measures that are not named."""
    return those([name for name in MEASURES if name not in names])


def positive(rng, n, d, scale=1.0):
    """Features as after ReLU: about half of them exactly 0."""
    return np.maximum(rng.normal(0.2, scale, size=(n, d)), 0)


@every_measure
def test_a_measure_does_not_depend_on_row_order(measure, rng):
    x, y = rng.normal(size=(30, 4)), rng.normal(1.0, size=(20, 4))
    assert measure(rng.permutation(x), y) == pytest.approx(measure(x, y), rel=1e-9)
    assert measure(x, rng.permutation(y)) == pytest.approx(measure(x, y), rel=1e-9)


@all_but(DEPEND_ON_FEATURE_ORDER)
def test_it_does_not_depend_on_the_order_of_the_features(measure, rng):
    x, y = rng.normal(size=(30, 6)), rng.normal(1.0, size=(20, 6))
    order = rng.permutation(6)
    assert measure(x[:, order], y[:, order]) == pytest.approx(measure(x, y), rel=1e-9)


@all_but(NOT_ZERO_FOR_EQUAL_SAMPLES)
def test_equal_samples_are_at_distance_zero(measure, rng):
    x = rng.normal(size=(30, 4))
    assert measure(x, x) == pytest.approx(0.0, abs=1e-9)
    assert measure(x[:1], x[:1]) == pytest.approx(0.0, abs=1e-9)


@every_measure
def test_samples_of_one_distribution_are_nearer_than_others(measure, rng):
    loudness = np.linspace(0.1, 2.0, 30)
    x, same = positive(rng, 60, 30) * loudness, positive(rng, 60, 30) * loudness
    other = positive(rng, 60, 30) * loudness[::-1]
    assert measure(x, same) < measure(x, other)


@all_but(MAY_BE_NEGATIVE)
def test_it_is_never_negative_and_always_finite(measure, rng):
    for _ in range(50):
        x = np.maximum(rng.normal(size=(int(rng.integers(1, 30)), 5)), 0)
        y = np.maximum(rng.normal(rng.normal(), 2.0, size=(int(rng.integers(1, 30)), 5)), 0)
        assert 0 <= measure(x, y) < np.inf


@those(MAY_BE_NEGATIVE)
def test_one_that_may_be_negative_is_zero_on_average_without_a_difference(measure, rng):
    found = [measure(rng.normal(size=(12, 8)), rng.normal(size=(9, 8))) for _ in range(400)]
    assert min(found) < 0
    assert abs(np.mean(found)) < 3 * np.std(found) / np.sqrt(400)


@those(SYMMETRIC)
def test_the_samples_may_change_places(measure, rng):
    x, y = rng.normal(size=(30, 4)), rng.normal(0.3, 2.0, size=(20, 4))
    assert measure(x, y) == pytest.approx(measure(y, x), rel=1e-9)


@all_but(SYMMETRIC)
def test_one_that_claims_no_symmetry_has_none(measure, rng):
    x, y = rng.normal(size=(30, 4)), rng.normal(0.3, 2.0, size=(20, 4))
    assert measure(x, y) != pytest.approx(measure(y, x), rel=1e-3)


@all_but(NOT_SHIFT_INVARIANT)
def test_moving_both_samples_changes_nothing(measure, rng):
    x, y, move = rng.normal(size=(30, 4)), rng.normal(0.5, size=(20, 4)), rng.normal(0, 9, size=4)
    assert measure(x + move, y + move) == pytest.approx(measure(x, y), rel=1e-9)


@those(SCALE_INVARIANT)
def test_it_does_not_change_when_a_feature_is_scaled_or_shifted(measure, rng):
    x, y = rng.normal(size=(30, 4)), rng.normal(0.5, size=(20, 4))
    scale, shift = np.array([0.25, 1.0, 8.0, 1024.0]), np.array([0.0, -3.0, 16.0, 5.0])
    assert measure(x * scale + shift, y * scale + shift) == pytest.approx(measure(x, y), rel=1e-9)


@pytest.mark.parametrize("name", POWERS)
def test_it_scales_with_a_power_of_the_features(name, rng):
    measure = MEASURES[name]
    x, y = rng.normal(size=(30, 4)), rng.normal(0.5, size=(20, 4))
    expected = 3.0 ** POWERS[name] * measure(x, y)
    assert measure(3 * x, 3 * y) == pytest.approx(expected, rel=1e-9)


@those(ANGULAR)
def test_only_directions_count(measure, rng):
    x, y = rng.normal(size=(30, 4)), rng.normal(0.5, size=(20, 4))
    longer, shorter = x * rng.uniform(1, 9, (30, 1)), y * rng.uniform(0.1, 1, (20, 1))
    assert measure(longer, shorter) == pytest.approx(measure(x, y), rel=1e-9)


@all_but(ANGULAR)
def test_a_growing_shift_gives_a_growing_distance(measure, rng):
    x, y = rng.normal(size=(200, 8)), rng.normal(size=(200, 8))
    distances = [measure(x, y + shift) for shift in (0.0, 0.5, 1.0, 2.0)]
    assert distances == sorted(distances)
    assert distances[-1] > 2 * distances[0]


@those(ANGULAR)
def test_a_growing_angle_gives_a_growing_distance(measure, rng):
    x, y = rng.normal(size=(200, 8)), rng.normal(size=(200, 8))
    x[:, 0] += 9
    distances = []
    for angle in (0.0, 0.3, 0.6, 1.2):
        turned = y.copy()
        turned[:, 0] += 9 * np.cos(angle)
        turned[:, 1] += 9 * np.sin(angle)
        distances.append(measure(x, turned))
    assert distances == sorted(distances)
    assert distances[-1] > 2 * distances[0]


@every_measure
def test_as_few_rows_as_it_says_are_enough_on_either_side(measure, rng):
    x = rng.normal(size=(10, 3))
    few = measure.min_rows
    assert np.isfinite(measure(x[:few], x[few:]))
    assert np.isfinite(measure(x[few:], x[:few]))
    assert np.isfinite(measure(x[:few], x[few : 2 * few]))


@those([name for name, measure in MEASURES.items() if measure.min_rows > 1])
def test_fewer_rows_than_it_says_are_refused(measure):
    with pytest.raises(ShapeError, match="at least 2 rows on either side"):
        measure(np.zeros((1, 3)), np.zeros((5, 3)))


@every_measure
def test_constant_and_repeated_rows_are_no_trouble(measure, rng):
    y = rng.normal(size=(20, 4))
    y[:, 2] = 0.0
    assert np.isfinite(measure(np.zeros((9, 4)), y))
    assert np.isfinite(measure(y, np.ones((9, 4))))
    assert np.isfinite(measure(np.ones((9, 4)), np.ones((9, 4))))


@every_measure
def test_single_precision_features_give_the_same_value(measure, rng):
    x, y = rng.normal(size=(30, 4)).astype(np.float32), rng.normal(size=(20, 4)).astype(np.float32)
    assert measure(x, y) == pytest.approx(measure(x.astype(float), y.astype(float)), rel=1e-6)


@every_measure
def test_samples_of_different_width_are_refused(measure):
    with pytest.raises(ShapeError, match="must have 3 features a row; got 4"):
        measure(np.zeros((5, 3)), np.zeros((5, 4)))


@every_measure
def test_an_empty_sample_is_refused(measure):
    with pytest.raises(InputError, match="x must have at least 1 row; got 0"):
        measure(np.zeros((0, 3)), np.zeros((5, 3)))


@every_measure
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_features_that_are_not_finite_are_refused(measure, value):
    broken = np.zeros((5, 3))
    broken[2, 1] = value
    with pytest.raises(ShapeError, match="NaN or infinity in 1 of 5 rows. Drop those rows"):
        measure(np.zeros((5, 3)), broken)


@those([name for name, measure in MEASURES.items() if measure.between_subsets])
@pytest.mark.parametrize("width", [4, 90])
def test_the_fast_path_between_subsets_is_the_measure(measure, width, rng):
    rows = positive(rng, 40, width).astype(np.float32)
    first = rng.random((6, 40)) < 0.4
    second = ~first & (rng.random((6, 40)) < 0.7)
    found = measure.between_subsets(rows, first, second)
    plain = [measure(rows[a], rows[b]) for a, b in zip(first, second, strict=True)]
    assert found == pytest.approx(np.array(plain), rel=1e-6, abs=1e-9)
