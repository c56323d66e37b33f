"""How well distances predict accuracy: in each group (Table 3), over all groups, and by chance."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Any, TypeVar

import numpy as np

from mixmood.core.arrays import Array
from mixmood.core.errors import InputError
from mixmood.core.seeds import rng_for
from mixmood.testbed.analysis.groups import Group, GroupKey, groups
from mixmood.testbed.analysis.statistics import (
    LEAST_CELLS,
    Interval,
    correlation_interval,
    correlations,
    each_left_out,
    pearsons,
    regret_interval,
    regret_points,
    regrets,
    spearmans,
)
from mixmood.testbed.record import Choice, RunRecord


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
        made.append(_overall_row(own, having, choice))
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


def _overall_row(
    rows: Sequence[AgreementRow], found: Sequence[Group], choice: Choice
) -> OverallRow:
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


MOST_ARRANGEMENTS = 5000
"""If there are more arrangements, a random sample of this size is used."""
Moves = dict[Any, Any]
"""For each source (or percentage), the one whose accuracy it gets."""


@dataclass(frozen=True)
class Chance:
    """P-values of the lowest mean correlation over all measures.

    They are shares of all arrangements, including the observed one. `p_lower` is the share in
    which the lowest mean correlation is at most the observed one, `p_higher` at least.
    """

    p_lower: float
    p_higher: float
    n_arrangements: int


def chance_of_correlation(
    records: Sequence[RunRecord], choice: Choice, seed: int = 0
) -> Chance | None:
    """A permutation test: could the best measure have predicted accuracy so well by chance?

    Cells of one source with different percentages, numbers of labels or tasks are not independent.
    Sources are therefore permuted in all of their cells at once, and so are percentages. The
    lowest correlation over all measures is compared with the lowest observed one, which accounts
    for the choice of the best measure among several. None if no correlation is defined.
    """
    found = groups(records)
    moves = list(_moves(found, rng_for(seed, "chance")))
    values = [_correlations(group, choice, moves) for group in found]
    measures = dict.fromkeys(name for by_name in values for name in by_name)
    if not measures:
        return None
    means = [np.mean([each[name] for each in values if name in each], axis=0) for name in measures]
    lowest = np.min(means, axis=0)
    tolerance = 1e-9  # Sums in another order differ in their last digits.
    return Chance(
        float(np.mean(lowest <= lowest[0] + tolerance)),
        float(np.mean(lowest >= lowest[0] - tolerance)),
        len(moves),
    )


def _moves(found: Sequence[Group], rng: np.random.Generator) -> Iterator[tuple[Moves, Moves]]:
    """Permutations of sources and percentages: first the identity, then all others or a sample."""
    source_blocks = _exchangeable(found, 0)
    blocks = [*source_blocks, *_exchangeable(found, 1)]
    n_sources = len(source_blocks)
    n_all = math.prod(math.factorial(len(block)) for block in blocks)
    orders: Iterator[tuple[Sequence[Any], ...]]
    if n_all <= MOST_ARRANGEMENTS:
        orders = product(*(permutations(block) for block in blocks))
    else:
        drawn = (
            tuple([block[place] for place in rng.permutation(len(block))] for block in blocks)
            for _ in range(MOST_ARRANGEMENTS - 1)
        )
        orders = iter([tuple(blocks), *drawn])
    for order in orders:
        pairs = [
            dict(zip(block, new, strict=True)) for block, new in zip(blocks, order, strict=True)
        ]
        sources = {old: new for part in pairs[:n_sources] for old, new in part.items()}
        percents = {old: new for part in pairs[n_sources:] for old, new in part.items()}
        yield sources, percents


def _exchangeable(found: Sequence[Group], side: int) -> list[list[Any]]:
    """Sets of sources (side 0) or percentages (1) that occur in the same cells."""
    places: dict[Any, set[object]] = defaultdict(set)
    for group in found:
        for cell in group.cells:
            places[cell[side]].add((group.key, cell[1 - side]))
    blocks: dict[frozenset[object], list[Any]] = defaultdict(list)
    for value, own in places.items():
        blocks[frozenset(own)].append(value)
    return list(blocks.values())


def _correlations(
    group: Group, choice: Choice, moves: Sequence[tuple[Moves, Moves]]
) -> dict[str, Array]:
    """Pearson's r of every measure that has one, for each arrangement."""
    place = {cell: index for index, cell in enumerate(group.cells)}
    order = [
        [place[sources[source], percents[percent]] for source, percent in group.cells]
        for sources, percents in moves
    ]
    made = {}
    for measure in group.measures:
        x, y = (values.mean(axis=0) for values in group.arrays(measure, choice))
        if np.ptp(x) > 0 and np.ptp(y) > 0:
            x, y = ((values - values.mean()) / values.std() for values in (x, y))
            made[measure] = np.asarray(y[np.array(order)] @ x / len(x))
    return made
