"""Cross-fitted linear classifier: pool images classified as labelled are useful."""

import numpy as np

from mixmood.core.arrays import Array, Codes, Rows
from mixmood.numerics.neighbours import unit_rows
from mixmood.scores.fitting import (
    ComparedRows,
    Fit,
    FitArrays,
    fit_fold_models,
    folds_by_content,
    pool_folds,
)

# The ridge penalty for rows of length 1 whose importances sum to 1, by AUROC on development tasks.
PENALTY = 0.03
CONSTANT = 0.3  # the constant entry of every row; its weight is the intercept


def fit_classifier(rows: ComparedRows, labels: Codes | None, importance: Array | None) -> Fit:
    """Value of a linear classifier that separates labelled images (+1) from the pool's (-1).

    Both have the same total weight. Of the pool only foreign images differ from labelled ones: they
    get the lowest values. Every image is scored by a model that was fitted without its fold, so
    that useful and labelled images have the same distribution of scores.
    """
    n, n_others = rows.n_labelled, len(rows.rows) - rows.n_labelled
    own_folds = folds_by_content(rows.labelled_units, labels)
    others_folds = pool_folds(rows.moved[n:], int(own_folds.max()) + 1)
    counts = np.ones(n) if importance is None else importance
    parts, held_out = fit_fold_models(
        rows.cosines + CONSTANT**2,
        np.concatenate([np.ones(n), -np.ones(n_others)]),
        np.concatenate([counts / counts.sum(), np.full(n_others, 1 / n_others)]) / 2,
        np.concatenate([own_folds, others_folds]),
        PENALTY,
    )
    intercepts = CONSTANT * parts.sum(axis=1)[:, None]
    weights = np.concatenate([(parts / rows.lengths) @ rows.moved, intercepts], axis=1)
    arrays = {"centre": rows.centre, "weights": weights, "labelled_folds": own_folds}
    return Fit(arrays, held_out[:n], held_out[n:])


def apply_classifier(arrays: FitArrays, roots: Array) -> Array:
    """The score of each row by the model of its fold, shape (n,)."""
    rows = unit_rows(roots, arrays["centre"])
    return classified(arrays, rows, pool_folds(rows, len(arrays["weights"])))


def classified(arrays: FitArrays, rows: Array, folds: Rows) -> Array:
    """The value of each unit row by the model of its fold, shape (n,)."""
    weights = arrays["weights"]
    values = rows @ weights[:, :-1].T + CONSTANT * weights[:, -1]
    return np.asarray(values[np.arange(len(rows)), folds])
