"""The line through the cells of a group."""

import pytest

from mixmood.testbed.analysis.groups import fitted_lines


def lines(make_record, distances, accuracies):
    return fitted_lines(
        [
            make_record(percent=10 * (k + 1), accuracy=accuracy, distances={"js": float(distance)})
            for k, (distance, accuracy) in enumerate(zip(distances, accuracies, strict=True))
        ],
        "last",
    )


def test_a_line_goes_through_points_on_it_and_needs_three(make_record):
    (line,) = lines(make_record, [2, 1, 3], [0.5, 0.7, 0.3])
    assert (line.x, line.y) == ((1, 3), pytest.approx((0.7, 0.3)))
    assert line.pearson == pytest.approx(-1)
    assert lines(make_record, [1, 2], [0.3, 0.4]) == []
    assert lines(make_record, [1, 1, 1], [0.3, 0.4, 0.5]) == []
    assert lines(make_record, [1, 2, 3], [0.4, 0.4, 0.4]) == []
