"""Which measure foretells accuracy best over all tasks and numbers of labels together?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.core.seeds import rng_for
from mixmood.testbed.analysis.agreement import (
    N_RESAMPLES,
    AgreementRow,
    Group,
    Interval,
    Numbers,
    groups,
    interval,
    pearsons,
    regrets,
    spearmans,
)
from mixmood.testbed.analysis.summary import Choice
from mixmood.testbed.runs.store import Record


@dataclass(frozen=True)
class OverallRow:
    """Means of a measure's rows of Table 3, with 95 % bootstrap intervals over seeds.

    A correlation that is undefined, where all cells of a group are alike, is left out.
    """

    measure: str
    pearson: float | None
    pearson_interval: Interval
    spearman: float | None
    spearman_interval: Interval
    regret_points: float
    regret_interval: Interval
    n_groups: int
    n_seeds: int


def overall_rows(
    records: Sequence[Record], rows: Sequence[AgreementRow], choice: Choice, seed: int = 0
) -> list[OverallRow]:
    """One row for each measure in `rows`, which is Table 3: the lowest mean correlation first.

    The runs of one seed share their images, so a seed is drawn, or not, in all groups at once.
    """
    found = groups(records)
    n_seeds = len({seed for group in found for seed in group.seeds})
    made = []
    for measure in dict.fromkeys(row.measure for row in rows):
        own = [row for row in rows if row.measure == measure]
        rng = rng_for(seed, "overall", measure)
        having = [group for group in found if measure in group.measures]
        made.append(_row(own, _intervals(having, own, choice, rng), n_seeds))
    return sorted(made, key=lambda row: 2.0 if row.pearson is None else row.pearson)


def _row(rows: Sequence[AgreementRow], intervals: Sequence[Interval], n_seeds: int) -> OverallRow:
    return OverallRow(
        measure=rows[0].measure,
        pearson=_mean([row.pearson for row in rows]),
        pearson_interval=intervals[0],
        spearman=_mean([row.spearman for row in rows]),
        spearman_interval=intervals[1],
        regret_points=float(np.mean([row.regret_points for row in rows])),
        regret_interval=intervals[2],
        n_groups=len(rows),
        n_seeds=n_seeds,
    )


def _intervals(
    found: Sequence[Group], rows: Sequence[AgreementRow], choice: Choice, rng: np.random.Generator
) -> list[Interval]:
    """The intervals of the means of Pearson, Spearman and regret; `rows` are those of `found`."""
    if len(rows) == 1:
        # As they stand in Table 3: other draws would give other last digits.
        return [rows[0].pearson_interval, rows[0].spearman_interval, rows[0].regret_interval]
    seeds = sorted({seed for group in found for seed in group.seeds})
    chances = np.full(len(seeds), 1 / len(seeds))
    counts = rng.multinomial(len(seeds), chances, size=N_RESAMPLES)
    drawn: tuple[list[Numbers], ...] = ([], [], [])
    for group, row in zip(found, rows, strict=True):
        own = counts[:, [seeds.index(seed) for seed in group.seeds]]
        values = _resampled(group, row.measure, choice, own)
        for column, point, each in zip(
            drawn, (row.pearson, row.spearman, row.regret_points), values, strict=True
        ):
            if point is not None:
                column.append(each)
    return [interval(np.mean(column, 0), len(seeds)) if column else None for column in drawn]


def _resampled(
    group: Group, measure: str, choice: Choice, counts: NDArray[np.int64]
) -> tuple[Numbers, Numbers, Numbers]:
    """Pearson, Spearman and regret for each row of counts, which says how often a seed is drawn."""
    distance, accuracy = group.arrays(measure, choice)
    with np.errstate(invalid="ignore", divide="ignore"):
        # A draw without any seed of the group gives NaN, and is left out of the interval.
        weights = counts / counts.sum(axis=1, keepdims=True)
        xs, ys = weights @ distance, weights @ accuracy
        ends = xs[:, group.finalists], ys[:, group.finalists]
        return pearsons(xs, ys), spearmans(xs, ys), regrets(*ends)


def _mean(values: Sequence[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined else None
