"""What holds for every measure, whatever it is."""

import numpy as np
import pytest

from mixmood.core.errors import ShapeError
from mixmood.measures import MEASURES

every_measure = pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES.keys())


@every_measure
def test_a_measure_does_not_depend_on_row_order(measure, rng):
    x, y = rng.normal(size=(30, 4)), rng.normal(1.0, size=(20, 4))
    assert measure(rng.permutation(x), y) == pytest.approx(measure(x, y), rel=1e-9)
    assert measure(x, rng.permutation(y)) == pytest.approx(measure(x, y), rel=1e-9)


@every_measure
def test_a_measure_does_not_depend_on_the_order_of_the_features(measure, rng):
    x, y = rng.normal(size=(30, 6)), rng.normal(1.0, size=(20, 6))
    order = rng.permutation(6)
    assert measure(x[:, order], y[:, order]) == pytest.approx(measure(x, y), rel=1e-9)


@every_measure
def test_equal_samples_are_at_distance_zero(measure, rng):
    x = rng.normal(size=(30, 4))
    assert measure(x, x) == pytest.approx(0.0, abs=1e-9)


@every_measure
def test_a_measure_is_never_negative_and_always_finite(measure, rng):
    for _ in range(20):
        x = np.maximum(rng.normal(size=(int(rng.integers(1, 30)), 5)), 0)
        y = np.maximum(rng.normal(rng.normal(), 2.0, size=(int(rng.integers(1, 30)), 5)), 0)
        assert 0 <= measure(x, y) < np.inf


@every_measure
def test_a_growing_shift_gives_a_growing_distance(measure, rng):
    x, y = rng.normal(size=(200, 8)), rng.normal(size=(200, 8))
    distances = [measure(x, y + shift) for shift in (0.0, 0.5, 1.0, 2.0)]
    assert distances == sorted(distances)
    assert distances[-1] > 2 * distances[0]


@every_measure
def test_one_image_on_either_side_is_enough(measure, rng):
    x = rng.normal(size=(10, 3))
    assert np.isfinite(measure(x[:1], x[1:]))
    assert np.isfinite(measure(x[1:], x[:1]))
    assert measure(x[:1], x[:1]) == pytest.approx(0.0, abs=1e-12)


@every_measure
def test_single_precision_features_give_the_same_value(measure, rng):
    x, y = rng.normal(size=(30, 4)).astype(np.float32), rng.normal(size=(20, 4)).astype(np.float32)
    assert measure(x, y) == pytest.approx(measure(x.astype(float), y.astype(float)), rel=1e-6)


@every_measure
def test_samples_of_different_width_are_refused(measure):
    with pytest.raises(ShapeError, match=r"same d; got shapes \(5, 3\) and \(5, 4\)"):
        measure(np.zeros((5, 3)), np.zeros((5, 4)))


@every_measure
def test_an_empty_sample_is_refused(measure):
    with pytest.raises(ShapeError, match=r"at least one row and one feature; got shapes \(0, 3\)"):
        measure(np.zeros((0, 3)), np.zeros((5, 3)))


@every_measure
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_features_that_are_not_finite_are_refused(measure, value):
    broken = np.zeros((5, 3))
    broken[2, 1] = value
    with pytest.raises(ShapeError, match="NaN or infinite features. Drop those rows"):
        measure(np.zeros((5, 3)), broken)


@pytest.mark.parametrize("name", ["js", "cosine"])
def test_histogram_measures_do_not_change_when_a_feature_is_scaled_or_shifted(name, rng):
    x, y = rng.normal(size=(30, 4)), rng.normal(0.5, size=(20, 4))
    scale, shift = np.array([0.25, 1.0, 8.0, 1024.0]), np.array([0.0, -3.0, 16.0, 5.0])
    moved = MEASURES[name](x * scale + shift, y * scale + shift)
    assert moved == pytest.approx(MEASURES[name](x, y), rel=1e-9)


@pytest.mark.parametrize("name", ["l1", "l2"])
def test_nearest_neighbour_measures_scale_with_the_features(name, rng):
    x, y = rng.normal(size=(30, 4)), rng.normal(0.5, size=(20, 4))
    assert MEASURES[name](8 * x, 8 * y) == pytest.approx(8 * MEASURES[name](x, y), rel=1e-9)
