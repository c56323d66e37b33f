"""The labelled-or-pool classifier and the k-NN score, added on one scale."""

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Codes
from mixmood.numerics.neighbours import unit_rows
from mixmood.scores.classifier import apply_classifier, fit_classifier
from mixmood.scores.fitting.content_folds import pool_folds
from mixmood.scores.fitting.fit import Fit, FitArrays
from mixmood.scores.fitting.roots import roots
from mixmood.scores.knn import N_NEIGHBOURS


def fit_combined(
    labelled: Array,
    pool: Array,
    labels: Codes | None = None,
    importance: Array | None = None,
) -> Fit:
    """Classifier value plus k-NN cosine, each divided by its spread over labelled and pool images.

    The classifier sees what the whole pool has in common, the k-NN score single odd images.
    The k-NN part leaves out the labelled images of a row's fold, as the classifier does, so that
    useful images of the pool and labelled images have the same distribution of scores.
    """
    part = fit_classifier(labelled, pool, labels, importance)
    references = unit_rows(roots(labelled), part.arrays["centre"])
    arrays = {**part.arrays, "references": references}
    own_folds = part.arrays["labelled_folds"]
    near_labelled = _nearest_of_other_folds(arrays, references, own_folds)
    near_pool = _fold_knn(arrays, pool)
    spreads = [_spread(part.labelled, part.pool), _spread(near_labelled, near_pool)]
    arrays["spreads"] = np.array(spreads)
    return Fit(
        arrays,
        part.labelled / spreads[0] + near_labelled / spreads[1],
        part.pool / spreads[0] + near_pool / spreads[1],
    )


def apply_combined(arrays: FitArrays, features: Array) -> Array:
    """The score of each row, shape (n,)."""
    spreads = arrays["spreads"]
    by_classifier, near = apply_classifier(arrays, features), _fold_knn(arrays, features)
    return np.asarray(by_classifier / spreads[0] + near / spreads[1])


def _fold_knn(arrays: FitArrays, features: Array) -> Array:
    rows = unit_rows(roots(features), arrays["centre"])
    return _nearest_of_other_folds(arrays, rows, pool_folds(rows, len(arrays["weights"])))


def _nearest_of_other_folds(arrays: FitArrays, rows: Array, folds: NDArray[np.int64]) -> Array:
    """Mean cosine to the nearest labelled images of other folds."""
    cosines = rows @ arrays["references"].T
    reference_folds = arrays["labelled_folds"]
    cosines[folds[:, None] == reference_folds[None, :]] = -np.inf
    n_others = len(reference_folds) - np.bincount(reference_folds).max()
    k = min(N_NEIGHBOURS, int(n_others))
    return np.asarray(-np.partition(-cosines, k - 1, axis=1)[:, :k].mean(axis=1))


def _spread(labelled: Array, pool: Array) -> float:
    """Root of the mean of the two variances; 1 where nothing varies."""
    spread = float(np.sqrt((labelled.var() + pool.var()) / 2))
    return spread if spread > 0 else 1.0
