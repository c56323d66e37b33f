"""Cross-fitted linear classifier: pool images classified as labelled are useful."""

import numpy as np

from mixmood.core.arrays import Array, Codes
from mixmood.numerics.neighbours import unit_rows
from mixmood.scores.fitting.content_folds import folds_by_content, pool_folds
from mixmood.scores.fitting.fit import Fit, FitArrays
from mixmood.scores.fitting.ridge import fit_fold_models
from mixmood.scores.fitting.roots import roots

PENALTY = 0.03
"""Of unit rows whose importances sum to 1; chosen by AUROC on development tasks."""
CONSTANT = 0.3
"""The entry of every row that carries the intercept."""


def fit_classifier(
    labelled: Array,
    pool: Array,
    labels: Codes | None = None,
    importance: Array | None = None,
) -> Fit:
    """Value of a linear classifier that separates labelled images (+1) from the pool's (-1).

    Both sides weigh the same, whatever their numbers. If the pool holds useful and foreign images,
    only the foreign ones differ from the labelled ones, so that they get the lowest values.
    Every image, labelled or not, is scored by a model that was fitted without its fold: a useful
    image of the pool has the same distribution of scores as a labelled one.

    Args:
        labelled: Shape (n, d).
        pool: A sample of the pool, shape (m, d).
        labels: Classes are spread evenly over the folds.
        importance: How much each labelled image counts, shape (n,); the same if None.
    """
    centre = roots(pool).mean(axis=0)
    own, others = unit_rows(roots(labelled), centre), unit_rows(roots(pool), centre)
    own_folds = folds_by_content(own, labels)
    n_folds = int(own_folds.max()) + 1
    counts = np.ones(len(own)) if importance is None else importance
    models = fit_fold_models(
        _with_constant(np.concatenate([own, others])),
        np.concatenate([np.ones(len(own)), -np.ones(len(others))]),
        np.concatenate([counts / counts.sum(), np.full(len(others), 1 / len(others))]) / 2,
        np.concatenate([own_folds, pool_folds(others, n_folds)]),
        PENALTY,
    )
    arrays = {"centre": centre, "weights": models.weights, "labelled_folds": own_folds}
    return Fit(arrays, models.held_out[: len(own)], models.held_out[len(own) :])


def apply_classifier(arrays: FitArrays, features: Array) -> Array:
    """The score of each row by the model of its fold, shape (n,)."""
    rows = unit_rows(roots(features), arrays["centre"])
    values = _with_constant(rows) @ arrays["weights"].T
    return np.asarray(values[np.arange(len(rows)), pool_folds(rows, len(arrays["weights"]))])


def _with_constant(rows: Array) -> Array:
    return np.concatenate([rows, np.full((len(rows), 1), CONSTANT)], axis=1)
