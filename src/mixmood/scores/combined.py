"""The sum of the labelled-or-pool classifier and the k-NN score, each divided by its spread."""

import numpy as np

from mixmood.core.arrays import Array, Codes, Rows
from mixmood.numerics.neighbours import unit_rows
from mixmood.scores.classifier import classified, fit_classifier
from mixmood.scores.fitting import ComparedRows, Fit, FitArrays, pool_folds
from mixmood.scores.knn import N_NEIGHBOURS


def fit_combined(rows: ComparedRows, labels: Codes | None, importance: Array | None) -> Fit:
    """Classifier value plus k-NN cosine, each divided by its spread over labelled and pool images.

    The classifier finds foreign images that have something in common, the k-NN score single ones.
    The k-NN part leaves out the labelled images of a row's fold, as the classifier does.
    """
    part = fit_classifier(rows, labels, importance)
    n, own_folds = rows.n_labelled, part.arrays["labelled_folds"]
    others_folds = pool_folds(rows.moved[n:], len(part.arrays["weights"]))
    near_labelled = _nearest_of_other_folds(rows.cosines[:n, :n], own_folds, own_folds)
    near_pool = _nearest_of_other_folds(rows.cosines[n:, :n], others_folds, own_folds)
    spreads = [_spread(part.labelled, part.pool), _spread(near_labelled, near_pool)]
    arrays = {**part.arrays, "references": rows.labelled_units, "spreads": np.array(spreads)}
    return Fit(
        arrays,
        part.labelled / spreads[0] + near_labelled / spreads[1],
        part.pool / spreads[0] + near_pool / spreads[1],
    )


def apply_combined(arrays: FitArrays, roots: Array) -> Array:
    """The score of each row, shape (n,)."""
    rows = unit_rows(roots, arrays["centre"])
    folds, spreads = pool_folds(rows, len(arrays["weights"])), arrays["spreads"]
    cosines = rows @ arrays["references"].T
    near = _nearest_of_other_folds(cosines, folds, arrays["labelled_folds"])
    return np.asarray(classified(arrays, rows, folds) / spreads[0] + near / spreads[1])


def _nearest_of_other_folds(cosines: Array, folds: Rows, reference_folds: Rows) -> Array:
    """Mean cosine to the nearest labelled images of other folds, from cosines of shape (m, n)."""
    others = np.where(folds[:, None] == reference_folds[None, :], -np.inf, cosines)
    n_others = len(reference_folds) - np.bincount(reference_folds).max()
    k = min(N_NEIGHBOURS, int(n_others))
    return np.asarray(-np.partition(-others, k - 1, axis=1)[:, :k].mean(axis=1))


def _spread(labelled: Array, pool: Array) -> float:
    """The root of the mean of the two variances; 1 if both are 0."""
    spread = float(np.sqrt((labelled.var() + pool.var()) / 2))
    return spread if spread > 0 else 1.0
