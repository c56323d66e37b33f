"""Prototypes: the similarity of an image to the mean of the nearest class."""

import numpy as np

from mixmood.core.arrays import Array, Codes
from mixmood.numerics.neighbours import unit_rows
from mixmood.scores.fitting import ComparedRows, Fit, FitArrays


def fit_prototypes(compared: ComparedRows, labels: Codes | None, importance: Array | None) -> Fit:
    """Largest cosine to the mean of a class, after the pool's mean is subtracted.

    It is 1 for an image in the direction of a class mean. A labelled image is left out of the mean
    of its class; the only image of a class is compared with the other classes.
    """
    rows = unit_rows(compared.labelled, compared.centre)
    codes = np.unique(np.asarray(labels), return_inverse=True)[1]
    sums = np.zeros((codes.max() + 1, rows.shape[1]))
    np.add.at(sums, codes, rows)
    arrays = {"centre": compared.centre, "prototypes": unit_rows(sums)}
    cosines = rows @ arrays["prototypes"].T
    # The direction of a mean is the direction of the sum: leaving a row out subtracts it.
    without = unit_rows(sums[codes] - rows)
    cosines[np.arange(len(rows)), codes] = np.einsum("ij,ij->i", rows, without)
    is_alone = np.bincount(codes)[codes] == 1
    if len(sums) > 1:
        cosines[np.flatnonzero(is_alone), codes[is_alone]] = -1.0
    return Fit(arrays, cosines.max(axis=1), apply_prototypes(arrays, compared.pool))


def apply_prototypes(arrays: FitArrays, roots: Array) -> Array:
    """The score of each row, shape (n,)."""
    cosines = unit_rows(roots, arrays["centre"]) @ arrays["prototypes"].T
    return np.asarray(cosines.max(axis=1))
