"""Energy distance."""

import numpy as np

from mixmood.core.arrays import Array, Mask
from mixmood.measures.pairs import Table, euclidean_distances, pair_sums, stacked


def energy_distance(x: Array, y: Array) -> float:
    """Energy distance, in its squared form, between two samples of feature vectors.

    2 mean|x_i - y_j| - mean|x_i - x_k| - mean|y_j - y_l|, over all pairs. It is 0 when the
    samples are equal, never negative, and unbounded as they move apart.

    Source: Szekely and Rizzo, "Energy statistics", J. Stat. Plan. Inference, 2013.

    >>> energy_distance(np.zeros((4, 1)), np.full((6, 1), 3.0))
    6.0
    """
    return float(energy_between_subsets(*stacked(x, y))[0])


def energy_between_subsets(rows: Array, first: Mask, second: Mask) -> Table:
    """`energy_distance` between k pairs of subsets of the same rows, shape (k,)."""
    pairs = euclidean_distances(rows)
    n, m = first.sum(axis=1), second.sum(axis=1)
    # Self-pairs stay in: dropping them would remove bias but could make the value negative.
    within = pair_sums(pairs, first, first) / n**2 + pair_sums(pairs, second, second) / m**2
    # Without this, rounding could make it negative.
    return np.asarray(np.maximum(2 * pair_sums(pairs, first, second) / (n * m) - within, 0.0))
