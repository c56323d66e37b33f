"""Features as coordinates in the space of their rows, for penalised linear models."""

from dataclasses import dataclass

import numpy as np

from mixmood.core.arrays import Array

SMALLEST = 1e-10
"""Directions whose singular value is a smaller share of the largest are left out as rounding."""


@dataclass(frozen=True)
class RowSpace:
    """Centred features as coordinates in an orthonormal basis.

    The solution of a linear model with an L2 penalty is a combination of the rows. With n rows
    of d > n features it therefore needs n coordinates, not d, and its norm stays the same.
    """

    coordinates: Array
    """Shape (n, r), r <= min(n, d); the columns are orthogonal when n < d."""
    basis: Array | None
    """Shape (d, r), orthonormal columns; None where the features are their own coordinates."""
    centre: Array
    """The mean row, shape (d,)."""


def row_space(features: Array) -> RowSpace:
    """The row space of the centred features; shape (n, d) in.

    The rows are rotated only where that saves work (n < d): the singular value decomposition
    gives coordinates with orthogonal columns.
    """
    centre = features.mean(axis=0)
    centred = features - centre
    if centred.shape[0] >= centred.shape[1]:
        return RowSpace(centred, None, centre)
    left, sizes, right = np.linalg.svd(centred, full_matrices=False)
    kept = sizes > SMALLEST * max(float(sizes[0]), np.finfo(float).tiny)
    return RowSpace(left[:, kept] * sizes[kept], right[kept].T, centre)
