"""Correlation and regret of accuracies against distances, with 95 % intervals over seeds.

Intervals come from leaving out one seed at a time. The usual percentile bootstrap covers the true
value in 50 to 90 % of cases with 2 to 10 seeds. The jackknife with Student's t, after Fisher's
transformation for correlations, covers 88 to 97 %; docs/reliability.md has the table.
"""

from collections.abc import Callable

import numpy as np

from mixmood.core.arrays import Array

Interval = tuple[float, float] | None
Statistic = Callable[[Array, Array], Array]
"""Distances and accuracies, both of shape (rows, cells), to one number for each row."""

LEAST_CELLS = 3  # two cells always have a correlation of +1 or -1
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
