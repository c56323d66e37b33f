"""Statistics within one task and seed, and their means with intervals that cover.

The pools of one task and seed share classes, labels and test images: numbers are computed within
such a unit and then averaged. Intervals are Student's t over the means of the seeds (other draws
of classes and images of the same tasks) or over those of the tasks (other tasks), never over
pools.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata, t

from mixmood.testbed.analysis.agreement import correlation_interval

Numbers = np.ndarray
Unit = tuple[str, int]
"""Task and seed."""
COVERAGE = 0.95


@dataclass(frozen=True)
class Mean:
    """A mean with its 95 % interval; `n` is what it was taken over."""

    value: float
    low: float
    high: float
    n: int

    def text(self, digits: int = 2, sign: bool = False) -> str:
        """As printed in tables."""
        form = f"{'+' if sign else ''}.{digits}f"
        # Adding 0 takes the sign from a zero.
        value, low, high = (round(one, digits) + 0.0 for one in (self.value, self.low, self.high))
        if not np.isfinite(value):
            return "-"
        if not np.isfinite(low):
            return f"{value:{form}}"
        return f"{value:{form}} [{low:{form}}, {high:{form}}]"


def mean_over(
    values: Mapping[Unit, float], over: str, floor: float = -np.inf, ceiling: float = np.inf
) -> Mean:
    """The mean over units, with the t interval over "seeds" or "tasks"; none below three.

    A value that is not defined (NaN) is left out. `floor` and `ceiling` are the least and the
    most that the number can be.
    """
    place = 1 if over == "seeds" else 0
    groups: dict[object, list[float]] = {}
    for unit, value in values.items():
        if np.isfinite(value):
            groups.setdefault(unit[place], []).append(value)
    means = np.array([np.mean(own) for own in groups.values()])
    n = len(means)
    if n == 0:
        return Mean(np.nan, np.nan, np.nan, 0)
    middle = float(means.mean())
    if n < 3:
        return Mean(middle, np.nan, np.nan, n)
    reach = float(t.ppf((1 + COVERAGE) / 2, n - 1) * means.std(ddof=1) / np.sqrt(n))
    return Mean(middle, max(floor, middle - reach), min(ceiling, middle + reach), n)


def mean_correlation(values: Mapping[Unit, float], over: str = "seeds") -> Mean:
    """The mean of correlations, which lie between -1 and 1."""
    return mean_over(values, over, -1.0, 1.0)


def correlation_of_means(x: Mapping[Unit, Numbers], y: Mapping[Unit, Numbers]) -> Mean:
    """Pearson's r of the means over seeds, as in the paper: the mean over tasks.

    Values of each unit are in the same order of pools. The interval leaves out one seed at a time
    in all tasks, on Fisher's scale, as the tables of the test bed do.
    """
    seeds = sorted({seed for _, seed in x})
    tasks = sorted({task for task, _ in x})

    def without(left_out: int | None) -> float:
        found = []
        for task in tasks:
            own = [(task, seed) for seed in seeds if seed != left_out and (task, seed) in x]
            means = [np.mean([values[unit] for unit in own], axis=0) for values in (x, y)]
            found.append(pearson(*means))
        defined = [one for one in found if np.isfinite(one)]
        return float(np.mean(defined)) if defined else np.nan

    value = without(None)
    if not np.isfinite(value):
        return Mean(np.nan, np.nan, np.nan, len(seeds))
    others = np.array([without(seed) for seed in seeds]) if len(seeds) > 1 else np.array([])
    low, high = correlation_interval(value, others) or (np.nan, np.nan)
    return Mean(value, low, high, len(seeds))


def pearson(x: Sequence[float], y: Sequence[float]) -> float:
    """Pearson's r; NaN where one of the two is constant."""
    a, b = np.asarray(x, float), np.asarray(y, float)
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return np.nan
    return float(np.corrcoef(a, b)[0, 1])


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    """Spearman's rho; NaN where one of the two is constant."""
    return pearson(rankdata(x), rankdata(y))


def chosen(scores: Sequence[float], gains: Sequence[float]) -> float:
    """The gain of the pool with the highest score; the mean over those that share it."""
    s, g = np.asarray(scores, float), np.asarray(gains, float)
    return float(g[s == s.max()].mean())


def best(gains: Sequence[float]) -> float:
    """The gain of the best choice, which may be no pool at all."""
    return max(0.0, float(np.max(gains)))


def by_unit(units: Mapping[Unit, list], value: Callable[[list], float]) -> dict[Unit, float]:
    """A number of each unit."""
    return {unit: value(rows) for unit, rows in units.items()}
