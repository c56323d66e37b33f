"""Every measure between the two sides of many partitions of the same rows."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.measures.registry import MEASURES, Measure
from mixmood.measures.shared.histogram import N_BINS, Bins

TAIL = 0.1
"""The share of all values at each end that goes into the outer bins."""
AT_ONCE = 64
"""Features counted in one matrix product: enough to be fast, few enough to stay in the cache."""


def partition_distances(
    rows: Array, is_first: NDArray[np.bool_], names: Sequence[str]
) -> NDArray[np.float64]:
    """Each measure from the first to the second side of each partition, (measures, partitions).

    The histograms span the middle of all rows, not the range of the first side. Both sides then
    have the same bins in every partition, and a few rows far away, which are in the outer bins,
    do not make the other bins wide.

    Args:
        rows: All feature vectors, shape (n, d).
        is_first: For each partition, which rows are on the first side, shape (partitions, n).
        names: Names of the measures.
    """
    measures = [MEASURES[name] for name in names]
    distances = np.zeros((len(names), len(is_first)))
    if any(measure.between_histograms for measure in measures):
        for p, q in _shares(rows, is_first):
            for row, measure in enumerate(measures):
                if between := measure.between_histograms:
                    distances[row] += between(p, q)
    for row, measure in enumerate(measures):
        if not measure.between_histograms:
            distances[row] = _between_sides(rows, is_first, measure)
    return distances


def _between_sides(rows: Array, is_first: NDArray[np.bool_], measure: Measure) -> Array:
    """The distance of each partition, shape (partitions,)."""
    if measure.between_subsets is None:
        return np.array([measure(rows[side], rows[~side]) for side in is_first])
    return measure.between_subsets(rows, is_first, ~is_first)


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
        # One column for each feature and bin: the histograms of a partition are its row of
        # `sides` times this matrix.
        one_hot = (few[:, :, None] == np.arange(width)).astype(np.float32).reshape(n, -1)
        shape = (len(sides), few.shape[1], width)
        first = (sides @ one_hot).reshape(shape)
        total = one_hot.sum(axis=0).reshape(shape[1:])
        yield first / sizes, (total - first) / (n - sizes)
