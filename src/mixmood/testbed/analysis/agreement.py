"""How well distances predict accuracy: in each group, over all, in each arm, and by chance.

95 % intervals come from leaving out one seed at a time. The usual percentile bootstrap covers the
true value in 50 to 90 % of cases with 2 to 10 seeds. The jackknife with Student's t, after Fisher's
transformation for correlations, covers 88 to 97 %; docs/reliability.md has the table.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, permutations, product
from typing import Any, Literal, get_args

import numpy as np

from mixmood.core.arrays import Array
from mixmood.core.seeds import rng_for
from mixmood.ssl.record import Arm
from mixmood.testbed.analysis.groups import PREDICTORS, Group, GroupKey, Kind, grouped, groups
from mixmood.testbed.plan import Choice
from mixmood.testbed.record import RunRecord

Interval = tuple[float, float] | None
Statistic = Callable[[Array, Array], Array]  # distances, accuracies (rows, cells) to (rows,)

LEAST_SEEDS = 3  # with fewer seeds the interval would be as wide as the scale
COVERAGE = 0.95
LARGEST = 0.9999  # larger correlations are clipped to it: Fisher's transformation is infinite at 1


def each_left_out(distance: Array, accuracy: Array, statistic: Statistic) -> Array:
    """For each seed, the statistic of the means over all other seeds; inputs (seeds, cells)."""
    n_seeds = len(distance)
    if n_seeds < 2:
        return np.full(n_seeds, np.nan)
    means = [(values.sum(axis=0) - values) / (n_seeds - 1) for values in (distance, accuracy)]
    return statistic(*means)


def correlation_interval(value: float | None, without: Array) -> Interval:
    """The interval of a correlation; `without` has the correlations without each of the seeds."""
    found = None if value is None else _jackknife(_fisher(np.array(value)), _fisher(without))
    return None if found is None else (float(np.tanh(found[0])), float(np.tanh(found[1])))


def regret_interval(value: float, without: Array) -> Interval:
    """The interval of a regret, which is never negative."""
    found = _jackknife(np.array(value), without)
    return None if found is None else (max(0.0, found[0]), max(0.0, found[1]))


def _fisher(values: Array) -> Array:
    return np.asarray(np.arctanh(np.clip(values, -LARGEST, LARGEST)))


def _jackknife(value: Array, without: Array) -> Interval:
    """value -+ t s / sqrt(n), where s is the spread of the pseudo-values n v - (n - 1) v_i."""
    from scipy.stats import t

    kept = without[np.isfinite(without)]
    n_seeds = len(kept)
    if n_seeds < LEAST_SEEDS:
        return None
    spread = (n_seeds - 1) * kept.std(ddof=1) / np.sqrt(n_seeds)
    reach = float(t.ppf((1 + COVERAGE) / 2, n_seeds - 1) * spread)
    return float(value) - reach, float(value) + reach


def pearsons(x: Array, y: Array) -> Array:
    """Pearson's r of each row of two arrays of the same shape; NaN where a row is constant."""
    is_constant = (np.ptp(x, axis=1) == 0) | (np.ptp(y, axis=1) == 0)
    x, y = (values - values.mean(axis=1, keepdims=True) for values in (x, y))
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (x * y).sum(axis=1) / np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    return np.where(is_constant, np.nan, r)


def spearmans(x: Array, y: Array) -> Array:
    """Spearman's rho of each row of two arrays of the same shape; NaN where a row is constant."""
    from scipy.stats import rankdata

    ranks = (np.asarray(rankdata(values, axis=1), dtype=np.float64) for values in (x, y))
    return pearsons(*ranks)


def regrets(distances: Array, accuracies: Array) -> Array:
    """For each row, the points of accuracy lost by choosing the nearest source, not the best.

    The accuracies of equally near sources are averaged.

    >>> regrets(np.array([[1.0, 2.0]]), np.array([[0.70, 0.75]])).round(6)
    array([5.])
    """
    nearest = distances == distances.min(axis=1, keepdims=True)
    chosen = (accuracies * nearest).sum(axis=1) / nearest.sum(axis=1)
    return np.asarray(100 * (accuracies.max(axis=1) - chosen))


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
    """How well a measure predicts accuracy over the contaminated cells of one group."""

    n_cells: int
    n_seeds: int  # intervals show how much the numbers depend on these, not on the sources
    paper: float | None = None  # Pearson's r in the paper, if it was requested and exists


def agreement_rows(
    records: Sequence[RunRecord], choice: Choice, kind: Kind = "measures"
) -> list[AgreementRow]:
    """One row for each group and measure, or predictor."""
    return [
        AgreementRow(
            **vars(group.key),
            measure=name,
            **_with_intervals(*_statistics(group, name)),
            n_cells=len(group.cells),
            n_seeds=len(group.seeds),
        )
        for group in groups(records, choice, kind)
        for name in group.values
    ]


def _statistics(group: Group, name: str) -> tuple[Array, Array]:
    """Pearson, Spearman and regret, shape (3,), and the same without each seed, (3, seeds)."""
    x, y = group.values[name], group.accuracies
    percents = np.array([percent for _, percent in group.cells])
    is_last = percents == percents.max()
    ends = (-x if name in PREDICTORS else x)[:, is_last], y[:, is_last]
    parts = (((x, y), pearsons), ((x, y), spearmans), (ends, regrets))
    whole = [
        statistic(*(values.mean(axis=0, keepdims=True) for values in arrays))[0]
        for arrays, statistic in parts
    ]
    without = [each_left_out(*arrays, statistic) for arrays, statistic in parts]
    return np.array(whole), np.array(without)


def _with_intervals(whole: Array, without: Array) -> dict[str, Any]:
    """The fields of AgreementIntervals but the measure; undefined correlations are None."""
    pearson, spearman = (None if np.isnan(value) else float(value) for value in whole[:2])
    regret = float(whole[2])
    return {
        "pearson": pearson,
        "pearson_interval": correlation_interval(pearson, without[0]),
        "spearman": spearman,
        "spearman_interval": correlation_interval(spearman, without[1]),
        "regret_points": regret,
        "regret_interval": regret_interval(regret, without[2]),
    }


@dataclass(frozen=True, kw_only=True)
class OverallRow(AgreementIntervals):
    """Means of a measure's rows of Table 3; a correlation of equal values is left out."""

    n_groups: int
    n_seeds: int


def overall_rows(
    records: Sequence[RunRecord], choice: Choice, kind: Kind = "measures"
) -> list[OverallRow]:
    """One row for each measure, or predictor, the best mean correlation first."""
    found = groups(records, choice, kind)
    names = dict.fromkeys(name for group in found for name in group.values)
    rows = [
        _overall_row(name, [group for group in found if name in group.values]) for name in names
    ]
    best = -1 if kind == "measures" else 1
    return sorted(rows, key=lambda row: 2.0 if row.pearson is None else -best * row.pearson)


def _overall_row(measure: str, found: Sequence[Group]) -> OverallRow:
    """The means over groups; a seed, whose runs share images, is left out of all at once."""
    seeds = sorted({seed for group in found for seed in group.seeds})
    whole = np.empty((3, len(found)))
    without = np.empty((3, len(found), len(seeds)))
    for column, group in enumerate(found):
        whole[:, column], own = _statistics(group, measure)
        # Leaving out a seed that a group does not have changes nothing in it.
        without[:, column] = whole[:, column, None]
        without[:, column, [seeds.index(seed) for seed in group.seeds]] = own
    means, left_out = np.full(3, np.nan), np.full((3, len(seeds)), np.nan)
    for row, is_defined in enumerate(~np.isnan(whole)):
        if is_defined.any():
            means[row] = whole[row, is_defined].mean()
            left_out[row] = without[row, is_defined].mean(axis=0)
    return OverallRow(
        measure=measure, **_with_intervals(means, left_out), n_groups=len(found), n_seeds=len(seeds)
    )


ARMS: tuple[Arm, ...] = get_args(Arm)
EpochChoice = Literal["best", "last"]
EPOCHS: tuple[EpochChoice, ...] = get_args(EpochChoice)
MEAN = "(mean of tasks)"
SHOWN = ("measure", "pearson", "spearman", "n_seeds")  # how fields of Table 5 begin in Table 3


@dataclass(frozen=True, kw_only=True)
class ArmAgreementRow(GroupKey):
    """Correlation of a measure with accuracy in one arm, with 95 % intervals over seeds."""

    arm: Arm
    epoch: EpochChoice
    measure: str
    pearson: float | None
    pearson_interval: Interval
    spearman: float | None
    spearman_interval: Interval
    n_seeds: int


def arm_agreement_rows(records: Sequence[RunRecord]) -> list[ArmAgreementRow]:
    """One row for each group, measure, epoch and arm, and one for the mean over the tasks."""
    ways = grouped(
        ((run.n_labelled, run.n_unlabelled, run.algorithm, run.contamination), record)
        for record in records
        if record.arms is not None
        for run in [record.run]
    )
    made = []
    for own, epoch, arm in product(ways.values(), EPOCHS, ARMS):
        tested = [record.in_arm(arm) for record in own]
        rows = agreement_rows(tested, epoch)
        found = [(vars(GroupKey.of(row)), vars(row)) for row in rows]
        if len({row.task for row in rows}) > 1:
            mean = vars(GroupKey.of(rows[0])) | {"task": MEAN}
            found += [(mean, vars(row)) for row in overall_rows(tested, epoch)]
        for group, row in found:
            shown = {name: value for name, value in row.items() if name.startswith(SHOWN)}
            made.append(ArmAgreementRow(**group, arm=arm, epoch=epoch, **shown))
    return made


MOST_ARRANGEMENTS = 5000  # if there are more arrangements, a random sample of this size is used
Moves = dict[Any, Any]  # for each source and percentage, the one whose accuracy it gets


@dataclass(frozen=True)
class Chance:
    """P-values of the lowest mean correlation over all measures: shares of all arrangements."""

    p_lower: float  # in which it is at most the observed one, itself included
    p_higher: float  # at least
    n_arrangements: int


def chance_of_correlation(records: Sequence[RunRecord], choice: Choice) -> Chance | None:
    """A permutation test: could the best measure have predicted accuracy so well by chance?

    Cells of one source with different percentages, numbers of labels or tasks are not independent.
    Sources are therefore permuted in all of their cells at once, and so are percentages. The
    lowest correlation over all measures is compared with the lowest observed one, which accounts
    for the choice of the best measure among several. None if no correlation is defined.
    """
    found = groups(records, choice)
    moves = list(_moves(found, rng_for(0, "chance")))
    values = [_correlations(group, moves) for group in found]
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


def _moves(found: Sequence[Group], rng: np.random.Generator) -> Iterator[Moves]:
    """Permutations of sources and percentages: first the identity, then all others or a sample."""
    blocks: list[list[Any]] = []  # sources, and percentages, that occur in the same cells
    for side in (0, 1):
        places = grouped(
            (cell[side], (group.key, cell[1 - side])) for group in found for cell in group.cells
        )
        blocks += grouped((frozenset(own), value) for value, own in places.items()).values()
    orders: Iterable[tuple[Sequence[Any], ...]]
    if math.prod(math.factorial(len(block)) for block in blocks) <= MOST_ARRANGEMENTS:
        orders = product(*(permutations(block) for block in blocks))
    else:
        drawn = (
            tuple([block[place] for place in rng.permutation(len(block))] for block in blocks)
            for _ in range(MOST_ARRANGEMENTS - 1)
        )
        orders = chain([tuple(blocks)], drawn)
    for order in orders:
        pairs = (zip(*both, strict=True) for both in zip(blocks, order, strict=True))
        yield dict(chain.from_iterable(pairs))


def _correlations(group: Group, moves: Sequence[Moves]) -> dict[str, Array]:
    """Pearson's r of every measure that has one, for each arrangement."""
    place = {cell: index for index, cell in enumerate(group.cells)}
    order = [[place[move[source], move[share]] for source, share in group.cells] for move in moves]
    made = {}
    for measure, values in group.values.items():
        x, y = values.mean(axis=0), group.accuracies.mean(axis=0)
        if np.ptp(x) > 0 and np.ptp(y) > 0:
            x, y = ((each - each.mean()) / each.std() for each in (x, y))
            made[measure] = np.asarray(y[np.array(order)] @ x / len(x))
    return made
