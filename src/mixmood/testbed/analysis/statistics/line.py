"""Straight lines fitted to accuracies against distances."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mixmood.testbed.analysis.statistics.groups import LEAST_CELLS, GroupKey, groups
from mixmood.testbed.runs.record import Choice, RunRecord


@dataclass(frozen=True)
class FittedLine:
    """Both ends of a fitted line, and Pearson's r of the points that it was fitted to."""

    x: tuple[float, float]
    y: tuple[float, float]
    pearson: float


def fitted(x: ArrayLike, y: ArrayLike) -> FittedLine | None:
    """The least-squares line over the range of x; None below three points or if x or y is constant.

    >>> fitted([1, 2, 3], [6, 4, 2])
    FittedLine(x=(1.0, 3.0), y=(6.0, 2.0), pearson=-1.0)
    """
    xs, ys = np.asarray(x, float), np.asarray(y, float)
    if len(xs) < LEAST_CELLS or np.ptp(xs) == 0 or np.ptp(ys) == 0:
        return None
    slope = float(np.cov(xs, ys, ddof=0)[0, 1] / xs.var())
    ends = (float(xs.min()), float(xs.max()))
    heights = [float(ys.mean() + slope * (end - xs.mean())) for end in ends]
    return FittedLine(ends, (heights[0], heights[1]), float(np.corrcoef(xs, ys)[0, 1]))


@dataclass(frozen=True, kw_only=True)
class GroupLine(GroupKey):
    """The line of one row of Table 3, fitted to the numbers of its correlation."""

    measure: str
    x: tuple[float, float]
    y: tuple[float, float]
    pearson: float


def predictor_lines(records: Sequence[RunRecord], choice: Choice) -> list[GroupLine]:
    """A line for each group and each of its predictors."""
    found = [
        (group.key, name, fitted(-values.mean(axis=0), accuracy.mean(axis=0)))
        for group in groups(records)
        for name in group.predictors
        for values, accuracy in [group.arrays(name, choice)]
    ]
    return _with_names(found)


def fitted_lines(records: Sequence[RunRecord], choice: Choice) -> list[GroupLine]:
    """A line for each group and measure, over the seeds that all cells of the group share."""
    found = [
        (group.key, measure, fitted(*(values.mean(axis=0) for values in both)))
        for group in groups(records)
        for measure in group.measures
        for both in [group.arrays(measure, choice)]
    ]
    return _with_names(found)


def _with_names(found: Iterable[tuple[GroupKey, str, FittedLine | None]]) -> list[GroupLine]:
    return [
        GroupLine(**vars(key), measure=measure, **vars(line))
        for key, measure, line in found
        if line is not None
    ]
