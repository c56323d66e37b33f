"""Features projected onto the two axes of a map."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mixmood.core.arrays import Array

N_FITTED = 200
"""Rows of each set from which the axes are computed; large pools do not weigh more."""


@dataclass(frozen=True)
class Projection:
    """The two main axes of some sets of features.

    Attributes:
        centre: The mean row, which is drawn at (0, 0), shape (d,).
        axes: Orthonormal directions, shape (d, 2).
        variance: The share of all variance along each axis.
    """

    centre: Array
    axes: Array
    variance: tuple[float, float]

    def __call__(self, features: Array) -> Array:
        """The positions of rows on the map, shape (n, 2)."""
        return np.asarray((features - self.centre) @ self.axes)


def principal_axes(sets: Sequence[Array]) -> Projection:
    """The plane in which the sets, taken together, spread most.

    Principal components by the eigenvectors of the inner products of rows or, where there are more
    rows than features (hundreds of pools), of columns. The sign of an axis is arbitrary: it is
    chosen so that the largest entry is positive, and a map does not flip between runs.
    """
    rows = np.concatenate([features[:N_FITTED] for features in sets]).astype(np.float64)
    centre = rows.mean(axis=0)
    spread = rows - centre
    is_long = len(spread) > spread.shape[1]
    products = spread.T @ spread if is_long else spread @ spread.T
    vectors = np.linalg.eigh(products).eigenvectors
    axes = np.zeros((rows.shape[1], 2))
    total = max(float(np.square(spread).sum()), np.finfo(float).tiny)
    for k in range(min(2, rows.shape[1])):
        axis = vectors[:, -1 - k] if is_long else spread.T @ vectors[:, -1 - k]
        length = float(np.linalg.norm(spread @ axis if is_long else axis))
        if length > 1e-9 * np.sqrt(total):
            axes[:, k] = axis / np.linalg.norm(axis) * np.sign(axis[np.abs(axis).argmax()])
    shares = np.square(spread @ axes).sum(axis=0) / total
    return Projection(centre, axes, (float(shares[0]), float(shares[1])))
