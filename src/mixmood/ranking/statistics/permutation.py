"""Permutation p-values: images are exchanged between two sets. Valid for any number of draws."""

from collections.abc import Sequence

import numpy as np

from mixmood.core.arrays import Array
from mixmood.measures.batch import partition_distances


def permutation_p(
    labelled: Array,
    pool: Array,
    names: Sequence[str],
    n_permutations: int,
    rng: np.random.Generator,
) -> Array:
    """How often a random partition is as far apart as the two samples, shape (measures,).

    (1 + number of random re-partitions of all rows whose distance is at least the observed one)
    / (1 + n_permutations). Uniform when both samples come from one distribution; its smallest
    value is 1 / (1 + n_permutations).
    """
    rows = np.concatenate([labelled, pool])
    is_first = np.zeros((1 + n_permutations, len(rows)), bool)
    is_first[:, : len(labelled)] = True
    is_first[1:] = rng.permuted(is_first[1:], axis=1)
    distances = partition_distances(rows, is_first, names)
    # A re-partition that only swaps equal rows may differ by rounding: count it as a tie.
    least = distances[:, :1] - 1e-6 * np.abs(distances[:, :1])
    n_as_far = (distances[:, 1:] >= least).sum(axis=1)
    return np.asarray((1 + n_as_far) / (1 + n_permutations))


def holm(p_values: Array) -> Array:
    """Holm's step-down correction for several tests, shape (n,).

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = len(p_values) - np.arange(len(p_values))
    corrected = np.empty(len(p_values))
    corrected[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    return corrected
