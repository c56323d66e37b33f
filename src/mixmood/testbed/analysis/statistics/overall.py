"""How well each measure predicts accuracy over all groups."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from mixmood.core.arrays import Array
from mixmood.testbed.analysis.statistics.agreement import (
    AgreementIntervals,
    AgreementRow,
    pearsons,
    predictor_rows,
    regrets,
    spearmans,
)
from mixmood.testbed.analysis.statistics.groups import Group, groups
from mixmood.testbed.analysis.statistics.interval import (
    correlation_interval,
    each_left_out,
    regret_interval,
)
from mixmood.testbed.runs.record import Choice, RunRecord

CORRELATIONS = ("pearson", "spearman")


@dataclass(frozen=True, kw_only=True)
class OverallRow(AgreementIntervals):
    """Means of a measure's rows of Table 3, with 95 % intervals over seeds.

    A correlation is undefined, and left out, if all cells of a group have the same value.
    """

    n_groups: int
    n_seeds: int


Row = TypeVar("Row", AgreementRow, OverallRow)


def overall_rows(
    records: Sequence[RunRecord], rows: Sequence[AgreementRow], choice: Choice
) -> list[OverallRow]:
    """One row for each measure in `rows` (Table 3), the lowest mean correlation first.

    The runs of one seed share images, so that a seed is left out of all groups at once.
    """
    found = groups(records)
    made = []
    for measure in dict.fromkeys(row.measure for row in rows):
        own = [row for row in rows if row.measure == measure]
        having = [group for group in found if measure in (*group.measures, *group.predictors)]
        made.append(_row(own, having, choice))
    return sorted(made, key=lambda row: 2.0 if row.pearson is None else row.pearson)


def predictor_agreements(
    records: Sequence[RunRecord], choice: Choice
) -> tuple[list[AgreementRow], list[OverallRow]]:
    """Rows of PREDICTORS for each group and over all groups, where 1 is a perfect prediction.

    The rows over all groups begin with the best predictor.
    """
    rows = predictor_rows(records, choice)
    overall = overall_rows(records, rows, choice)
    return [_sign_reversed(row) for row in rows], [_sign_reversed(row) for row in overall]


def _sign_reversed(row: Row) -> Row:
    """The row with the signs of its correlations reversed."""
    changed: dict[str, Any] = {}
    for name in CORRELATIONS:
        value, ends = getattr(row, name), getattr(row, f"{name}_interval")
        changed[name] = None if value is None else -value
        changed[f"{name}_interval"] = None if ends is None else (-ends[1], -ends[0])
    return replace(row, **changed)


def _row(rows: Sequence[AgreementRow], found: Sequence[Group], choice: Choice) -> OverallRow:
    """The means of `rows`, which are the rows of the groups `found`."""
    measure = rows[0].measure
    seeds = sorted({seed for group in found for seed in group.seeds})
    parts = [_without(group, measure, choice, seeds) for group in found]
    pearson, spearman = (_mean([getattr(row, key) for row in rows]) for key in CORRELATIONS)
    regret = float(np.mean([row.regret_points for row in rows]))
    without = [np.mean(column, axis=0) for column in _defined(rows, parts)]
    return OverallRow(
        measure=measure,
        pearson=pearson,
        pearson_interval=correlation_interval(pearson, without[0]),
        spearman=spearman,
        spearman_interval=correlation_interval(spearman, without[1]),
        regret_points=regret,
        regret_interval=regret_interval(regret, without[2]),
        n_groups=len(rows),
        n_seeds=len(seeds),
    )


def _without(group: Group, measure: str, choice: Choice, seeds: Sequence[int]) -> list[Array]:
    """Pearson, Spearman and regret of a group without each of `seeds`, the seeds of all groups."""
    distance, accuracy = group.arrays(measure, choice)
    ends = distance[:, group.finalists], accuracy[:, group.finalists]
    both = (distance, accuracy)
    made = []
    for arrays, statistic in ((both, pearsons), (both, spearmans), (ends, regrets)):
        whole = statistic(*(values.mean(axis=0, keepdims=True) for values in arrays))[0]
        own = dict(zip(group.seeds, each_left_out(*arrays, statistic), strict=True))
        made.append(np.array([own.get(seed, whole) for seed in seeds]))
    return made


def _defined(rows: Sequence[AgreementRow], parts: Sequence[Sequence[Array]]) -> list[list[Array]]:
    """Columns of Pearson, Spearman and regret, for the groups in which they are defined."""
    columns: list[list[Array]] = [[], [], []]
    for row, values in zip(rows, parts, strict=True):
        points = (row.pearson, row.spearman, row.regret_points)
        for column, point, each in zip(columns, points, values, strict=True):
            if point is not None:
                column.append(each)
    return [column or [np.array([])] for column in columns]


def _mean(values: Sequence[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined else None
