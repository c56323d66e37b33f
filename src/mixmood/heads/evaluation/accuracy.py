"""Accuracy on held-out images with its interval; images of one group are not independent."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array

Z = 1.959963984540054
"""The quantile of the normal distribution for intervals of 95 %."""


@dataclass(frozen=True)
class Estimate:
    """A mean over images and its interval of 95 %."""

    value: float
    low: float
    high: float


def cluster_sums(values: Array, groups: NDArray[np.integer] | None) -> tuple[Array, Array]:
    """The sum of the values and the number of rows of each group; if None, a row is a group."""
    if groups is None:
        return values, np.ones(len(values))
    _, places = np.unique(groups, return_inverse=True)
    sums = np.zeros(places.max() + 1)
    np.add.at(sums, places, values)
    return sums, np.bincount(places).astype(float)


def mean_and_error(values: Array, groups: NDArray[np.integer] | None = None) -> tuple[float, float]:
    """The mean over rows and its standard error; only groups are independent of each other.

    The error is that of a ratio of sums over groups. With one group it is infinite.
    """
    sums, counts = cluster_sums(values, groups)
    mean, n_groups = float(sums.sum() / counts.sum()), len(sums)
    if n_groups < 2:
        return mean, np.inf
    squares = float(((sums - mean * counts) ** 2).sum()) * n_groups / (n_groups - 1)
    return mean, float(np.sqrt(squares) / counts.sum())


def accuracy_interval(
    right: Array, groups: NDArray[np.integer] | None = None, spread: float = 1.0
) -> Estimate:
    """The mean of `right`, one share between 0 and 1 for each image, with Wilson's interval.

    Wilson's interval stays between 0 and 1 and keeps a width if all images are right. Groups whose
    images are right or wrong together make it wider: n is then the number of independent images
    that would have the same standard error. `spread` multiplies the standard error of independent
    images.

    >>> round(accuracy_interval(np.ones(16)).low, 3)
    0.806
    """
    mean, error = mean_and_error(right, groups)
    n_rows = float(len(right))
    variance = mean * (1 - mean)
    if groups is not None:
        n_groups = len(np.unique(groups))
        n_effective = variance / error**2 if 0 < error < np.inf and variance > 0 else n_groups
        n_rows = max(min(n_rows, n_effective), 1.0)
    n_rows /= spread**2
    shrink = 1 + Z**2 / n_rows
    centre = (mean + Z**2 / (2 * n_rows)) / shrink
    half = Z * np.sqrt(variance / n_rows + Z**2 / (4 * n_rows**2)) / shrink
    # Rounding must not put the mean outside its own interval where all are right or all wrong.
    low, high = min(max(0.0, centre - half), mean), max(min(1.0, centre + half), mean)
    return Estimate(mean, float(low), float(high))


def difference_interval(differences: Array, groups: NDArray[np.integer] | None = None) -> Estimate:
    """The mean of paired differences, one for each image, with its interval of 95 %."""
    mean, error = mean_and_error(differences, groups)
    return Estimate(mean, mean - Z * error, mean + Z * error)
