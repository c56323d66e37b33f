"""Every measure between the two sides of many partitions of the same rows, quickly."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.measures.histogram import Bins
from mixmood.measures.nearest import METRICS, pair_distances
from mixmood.measures.registry import BETWEEN_HISTOGRAMS, MEASURES, N_BINS

TAIL = 0.1
"""The share of all values at each end that the outer bins take."""
AT_ONCE = 64
"""Features counted in one matrix product: enough to be fast, few enough to stay in the cache."""


def partition_distances(
    rows: Array, is_first: NDArray[np.bool_], names: Sequence[str]
) -> NDArray[np.float64]:
    """Each measure from the first to the second side of each partition, (measures, partitions).

    The histograms span the middle of all rows, not the range of the first side: nothing but the
    partition then tells the sides apart, the bins need not be made anew for each, and a few rows
    far away, which have the outer bins, cannot make the others wide.

    Args:
        rows: All feature vectors, shape (n, d).
        is_first: For each partition, which rows are on the first side, shape (partitions, n).
        names: Names of the measures.
    """
    distances = np.zeros((len(names), len(is_first)))
    by_histogram = [name for name in names if name in BETWEEN_HISTOGRAMS]
    if by_histogram:
        for p, q in _shares(rows, is_first):
            for name in by_histogram:
                distances[names.index(name)] += BETWEEN_HISTOGRAMS[name](p, q)
    for row, name in enumerate(names):
        if name not in BETWEEN_HISTOGRAMS:
            distances[row] = _one_by_one(rows, is_first, name)
    return distances


def _one_by_one(rows: Array, is_first: NDArray[np.bool_], name: str) -> list[float]:
    """The distance of each partition; nearest neighbours are looked up in one table of pairs."""
    if name not in METRICS:
        return [MEASURES[name](rows[side], rows[~side]) for side in is_first]
    pairs = pair_distances(rows, rows, METRICS[name])
    return [float(pairs[side][:, ~side].min(axis=1).mean()) for side in is_first]


def _shares(rows: Array, is_first: NDArray[np.bool_]) -> Iterator[tuple[Array, Array]]:
    """Histograms of both sides for a few features at a time, shape (partitions, few, bins)."""
    n, d = rows.shape
    low, high = np.quantile(rows, [TAIL, 1 - TAIL], axis=0)
    positions = Bins.between(low, high, N_BINS).positions(rows)
    sides = is_first.astype(np.float32)
    sizes = sides.sum(axis=1)[:, None, None]
    width = N_BINS + 2
    for start in range(0, d, AT_ONCE):
        few = positions[:, start : start + AT_ONCE]
        # A column for each feature and bin: a partition's histograms are a row times this matrix.
        one_hot = (few[:, :, None] == np.arange(width)).astype(np.float32).reshape(n, -1)
        shape = (len(sides), few.shape[1], width)
        first = (sides @ one_hot).reshape(shape)
        total = one_hot.sum(axis=0).reshape(shape[1:])
        yield first / sizes, (total - first) / (n - sizes)
