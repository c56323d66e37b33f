"""The line through points of a scatter."""

import pytest

from mixmood.testbed.analysis.statistics import fitted


def test_a_line_goes_through_points_on_it_and_needs_three():
    line = fitted([2, 1, 3], [5, 7, 3])
    assert (line.x, line.y) == ((1, 3), pytest.approx((7, 3)))
    assert line.pearson == pytest.approx(-1)
    assert fitted([1, 2], [3, 4]) is None
    assert fitted([1, 1, 1], [3, 4, 5]) is None
    assert fitted([1, 2, 3], [4, 4, 4]) is None
