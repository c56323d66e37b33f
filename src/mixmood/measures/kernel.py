"""Kernel distance: the squared maximum mean discrepancy with the polynomial kernel of KID."""

import numpy as np

from mixmood.core.arrays import Array, Mask
from mixmood.core.errors import ShapeError
from mixmood.measures.pairs import Table, check_two_rows, inner_products, pair_sums, stacked

DEGREE = 3


def kernel_distance(x: Array, y: Array) -> float:
    """Unbiased squared maximum mean discrepancy with the kernel k(a, b) = (a . b / d + 1)^3.

    mean_{i != k} k(x_i, x_k) + mean_{j != l} k(y_j, y_l) - 2 mean_{i, j} k(x_i, y_j). Its mean
    over samples of one distribution is 0, so that it may be negative; it grows without bound as
    the samples move apart. It is symmetric, and changes when both samples are shifted.

    Source: Binkowski, Sutherland, Arbel and Gretton, "Demystifying MMD GANs", ICLR 2018.

    >>> kernel_distance(np.zeros((4, 1)), np.ones((6, 1)))
    7.0
    """
    return float(kernel_between_subsets(*stacked(x, y))[0])


def kernel_between_subsets(rows: Array, first: Mask, second: Mask) -> Table:
    """`kernel_distance` between k pairs of subsets of the same rows, shape (k,)."""
    check_two_rows(
        first, second, "The kernel distance", "it leaves out the pair of a row with itself"
    )
    with np.errstate(over="ignore"):
        table = (inner_products(rows) / rows.shape[1] + 1.0) ** DEGREE
    if not np.isfinite(table).all():
        raise ShapeError(
            f"The kernel distance of features as large as {np.abs(rows).max():.1g} is beyond the "
            "largest number. Scale the features first."
        )
    n, m = first.sum(axis=1), second.sum(axis=1)
    own = np.diagonal(table)
    within_x = (pair_sums(table, first, first) - first @ own) / (n * (n - 1))
    within_y = (pair_sums(table, second, second) - second @ own) / (m * (m - 1))
    return np.asarray(within_x + within_y - 2 * pair_sums(table, first, second) / (n * m))
