"""Table 3: how well distances predict accuracy, with intervals over seeds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mixmood.core.arrays import Array
from mixmood.core.errors import InputError
from mixmood.testbed.analysis.statistics.correlation import correlations, regret_points
from mixmood.testbed.analysis.statistics.groups import LEAST_CELLS, Group, GroupKey, groups
from mixmood.testbed.analysis.statistics.interval import (
    Interval,
    correlation_interval,
    each_left_out,
    regret_interval,
)
from mixmood.testbed.runs.record import Choice, RunRecord


@dataclass(frozen=True, kw_only=True)
class AgreementIntervals:
    """How well a measure predicts accuracy, with 95 % intervals over seeds."""

    measure: str
    pearson: float | None
    pearson_interval: Interval
    spearman: float | None
    spearman_interval: Interval
    regret_points: float
    regret_interval: Interval


@dataclass(frozen=True, kw_only=True)
class AgreementRow(AgreementIntervals, GroupKey):
    """How well a measure predicts accuracy over the contaminated cells of one group.

    Intervals are 95 % intervals over seeds, None below three seeds. They show how much the numbers
    depend on the seeds, not on the choice of sources.
    """

    n_cells: int
    n_seeds: int
    paper: float | None = None
    """Pearson's r in the paper, if it was requested and exists."""


def agreement_rows(records: Sequence[RunRecord], choice: Choice) -> list[AgreementRow]:
    """One row for each group and measure."""
    rows = [_row(group, measure, choice) for group in groups(records) for measure in group.measures]
    if not rows:
        raise InputError(
            f"To correlate, at least {LEAST_CELLS} contaminated cells of one task must share a "
            "seed. Run more of the test bed, or select less strictly."
        )
    return rows


def predictor_rows(records: Sequence[RunRecord], choice: Choice) -> list[AgreementRow]:
    """One row for each group and predictor, with reversed sign: -1 is a perfect prediction."""
    return [_row(group, name, choice) for group in groups(records) for name in group.predictors]


def _row(group: Group, measure: str, choice: Choice) -> AgreementRow:
    distance, accuracy = group.arrays(measure, choice)
    ends = distance[:, group.finalists], accuracy[:, group.finalists]
    x, y = distance.mean(axis=0), accuracy.mean(axis=0)
    pearson, spearman = correlations(x, y)
    regret = regret_points(*(values.mean(axis=0) for values in ends))
    return AgreementRow(
        **vars(group.key),
        measure=measure,
        pearson=pearson,
        pearson_interval=correlation_interval(pearson, each_left_out(distance, accuracy, pearsons)),
        spearman=spearman,
        spearman_interval=correlation_interval(
            spearman, each_left_out(distance, accuracy, spearmans)
        ),
        regret_points=regret,
        regret_interval=regret_interval(regret, each_left_out(*ends, regrets)),
        n_cells=len(group.cells),
        n_seeds=len(group.seeds),
    )


def pearsons(x: Array, y: Array) -> Array:
    """Pearson's r of each row of two arrays of the same shape; NaN where a row is constant."""
    x, y = (values - values.mean(axis=1, keepdims=True) for values in (x, y))
    with np.errstate(invalid="ignore", divide="ignore"):
        denominator = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
        return np.asarray((x * y).sum(axis=1) / denominator)


def spearmans(x: Array, y: Array) -> Array:
    """Spearman's rho of each row of two arrays of the same shape; NaN where a row is constant."""
    from scipy.stats import rankdata

    ranks = (np.asarray(rankdata(values, axis=1), dtype=np.float64) for values in (x, y))
    return pearsons(*ranks)


def regrets(distances: Array, accuracies: Array) -> Array:
    """For each row, the points of accuracy lost by choosing the nearest source, not the best."""
    nearest = distances == distances.min(axis=1, keepdims=True)
    chosen = (accuracies * nearest).sum(axis=1) / nearest.sum(axis=1)
    return np.asarray(100 * (accuracies.max(axis=1) - chosen))
