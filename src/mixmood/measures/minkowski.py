"""Mean distance to the nearest neighbour: the paper's two Minkowski measures."""

import numpy as np

from mixmood.core.arrays import Array, Mask
from mixmood.measures.pairs import Metric, Table, pair_distances, stacked


def l1_distance(x: Array, y: Array) -> float:
    """Mean Manhattan distance from a row of x to its nearest row of y.

    mean_i min_j sum_r |x_ir - y_jr|. It is 0 when every row of x is also in y, and unbounded as
    the samples move apart; it is not symmetric, and it scales with the features.

    Source: Calderon-Ramirez, Oala et al., "MixMOOD", 2020, section 3.2.

    >>> l1_distance(np.zeros((4, 2)), np.array([[3.0, 1.0], [9.0, 9.0]]))
    4.0
    """
    return float(nearest_between("cityblock", *stacked(x, y))[0])


def l2_distance(x: Array, y: Array) -> float:
    """Mean Euclidean distance from a row of x to its nearest row of y.

    mean_i min_j sqrt(sum_r (x_ir - y_jr)^2), with the limits and the source of `l1_distance`.

    >>> l2_distance(np.zeros((4, 2)), np.array([[3.0, 4.0], [9.0, 9.0]]))
    5.0
    """
    return float(nearest_between("euclidean", *stacked(x, y))[0])


def nearest_between(metric: Metric, rows: Array, first: Mask, second: Mask) -> Table:
    """The mean distance to the nearest row between k pairs of subsets of the same rows, (k,)."""
    # Distances between rows that are always on the same side are not needed.
    is_x, is_y = first.any(axis=0), second.any(axis=0)
    pairs = pair_distances(rows[is_x], rows[is_y], metric)
    subsets = zip(first[:, is_x], second[:, is_y], strict=True)
    return np.array([pairs[in_x][:, in_y].min(axis=1).mean() for in_x, in_y in subsets])
