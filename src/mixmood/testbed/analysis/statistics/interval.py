"""95 % intervals over seeds, by leaving out one seed at a time.

The usual percentile bootstrap covers the true value in 50 to 90 % of cases with 2 to 10 seeds. The
jackknife with Student's t, after Fisher's transformation for correlations, covers 88 to 97 %;
docs/reliability.md has the table.
"""

from collections.abc import Callable

import numpy as np

from mixmood.core.arrays import Array

Interval = tuple[float, float] | None
Statistic = Callable[[Array, Array], Array]
"""Distances and accuracies, both of shape (rows, cells), to one number for each row."""

LEAST_SEEDS = 3
"""With fewer seeds the interval would be as wide as the scale."""
COVERAGE = 0.95
LARGEST = 0.9999
"""Larger correlations are clipped to it: Fisher's transformation is infinite at 1."""


def each_left_out(distance: Array, accuracy: Array, statistic: Statistic) -> Array:
    """For each seed, the statistic of the means over all other seeds; inputs (seeds, cells)."""
    n_seeds = len(distance)
    if n_seeds < 2:
        return np.full(n_seeds, np.nan)
    means = [(values.sum(axis=0) - values) / (n_seeds - 1) for values in (distance, accuracy)]
    return statistic(*means)


def correlation_interval(value: float | None, without: Array) -> Interval:
    """The interval of a correlation; `without` has the correlations without each of the seeds."""
    if value is None:
        return None
    found = _jackknife(_fisher(np.array(value)), _fisher(without))
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
