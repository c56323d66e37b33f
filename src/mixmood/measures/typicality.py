"""Typicality: how close the images of the second sample are to their neighbours in the first."""

import numpy as np

from mixmood.core.arrays import Array, Mask
from mixmood.measures.pairs import Table, stacked

N_NEIGHBOURS = 5


def typicality_distance(x: Array, y: Array) -> float:
    """Mean cosine distance from a row of y to its 5 nearest rows of x.

    mean_j mean_{i in the 5 nearest of x} 1 - x_i . y_j / (|x_i| |y_j|). It is 0 when every row of
    y has the direction of 5 rows of x, and at most 2; two samples of one distribution are above
    0. It is not symmetric: it asks how typical the images of y are among those of x. A row of
    zeros is at 1 from every other; a sample x of fewer than 5 rows is used whole.

    Source: Sun, Ming, Zhu and Li, "Out-of-distribution detection with deep nearest neighbors",
    ICML 2022, with the mean over the neighbours and over the sample.

    >>> typicality_distance(np.array([[2.0, 0.0]]), np.array([[0.0, 1.0], [3.0, 0.0]]))
    0.5
    """
    return float(typicality_between_subsets(*stacked(x, y))[0])


def typicality_between_subsets(rows: Array, first: Mask, second: Mask) -> Table:
    """`typicality_distance` between k pairs of subsets of the same rows, shape (k,)."""
    is_x, is_y = first.any(axis=0), second.any(axis=0)
    # Dividing by the largest value first keeps the squares in range.
    largest = np.abs(rows).max(axis=1, keepdims=True).astype(np.float64)
    units = rows / np.where(largest > 0, largest, 1.0)
    lengths = np.linalg.norm(units, axis=1, keepdims=True)
    units /= np.where(lengths > 0, lengths, 1.0)
    # Rounding can make the cosine of a row with itself slightly larger than 1.
    apart = np.maximum(1.0 - units[is_y] @ units[is_x].T, 0.0)
    found = []
    for in_x, in_y in zip(first[:, is_x], second[:, is_y], strict=True):
        own = apart[in_y][:, in_x]
        if own.shape[1] > N_NEIGHBOURS:
            own = np.partition(own, N_NEIGHBOURS - 1, axis=1)[:, :N_NEIGHBOURS]
        found.append(own.mean())
    return np.array(found)
