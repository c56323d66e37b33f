"""Subspace angle: how much of an image lies in the subspace of the labelled images."""

import numpy as np

from mixmood.core.arrays import Array, Codes
from mixmood.numerics.neighbours import unit_rows
from mixmood.scores.fitting import ComparedRows, Fit, FitArrays

SOFTNESS = 0.1  # directions of a squared singular value far below this are outside the subspace


def fit_subspace(compared: ComparedRows, labels: Codes | None, importance: Array | None) -> Fit:
    """Squared cosine of the angle to the softened subspace of the labelled images.

    With unit rows A and unit x: x' A' (A A' + s I)^-1 A x. It is near 1 inside the span of the
    labelled images, 0 at right angles to it. The mean of the pool is not subtracted: it would make
    the direction of the foreign images a part of the subspace.
    """
    rows = unit_rows(compared.labelled)
    inverse = np.linalg.inv(rows @ rows.T + SOFTNESS * np.eye(len(rows)))
    arrays = {"basis": rows, "inverse": inverse}
    lengths = np.einsum("ij,ij->i", rows, rows)
    # The part outside is s x'(A'A + sI)^-1 x; Sherman-Morrison takes a row out of its own A'A.
    outside = lengths - _inside(arrays, rows)
    left_out = outside / np.maximum(1.0 - outside / SOFTNESS, 1e-12)
    return Fit(arrays, lengths - left_out, apply_subspace(arrays, compared.pool))


def apply_subspace(arrays: FitArrays, roots: Array) -> Array:
    """The score of each row, shape (n,)."""
    return _inside(arrays, unit_rows(roots))


def _inside(arrays: FitArrays, rows: Array) -> Array:
    products = rows @ arrays["basis"].T
    return np.asarray(np.einsum("ij,ij->i", products @ arrays["inverse"], products))
