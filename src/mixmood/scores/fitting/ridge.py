"""Ridge regression, fitted once without each fold."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, cholesky, lapack

from mixmood.core.arrays import Array


@dataclass(frozen=True)
class FoldModels:
    """One linear model for each fold, fitted on the other folds, and its values on its own fold."""

    parts: Array
    """The coefficient of each row in each model, 0 for rows of the model's fold, shape
    (n_folds, n): the weights of the models are parts @ rows."""
    held_out: Array
    """The value of each row by the model that was fitted without it, shape (n,)."""


def fit_fold_models(
    gram: Array, targets: Array, importance: Array, folds: NDArray[np.int64], penalty: float
) -> FoldModels:
    """Minimise sum_i importance_i (target_i - w'x_i)^2 + penalty |w|^2 without each fold in turn.

    All models come from one inverse. With A = X X' + penalty diag(1 / importance), a = A^-1 t and S
    the rows of a fold, the residuals of its model on S are ((A^-1)_SS)^-1 a_S. Logistic regression
    would iterate for every fold; the two were not compared.

    Args:
        gram: Inner products X X' of the rows, shape (n, n).
        targets: Shape (n,).
        importance: Of each row, shape (n,).
        folds: The fold of each row, 0 and up, shape (n,).
        penalty: Of the weights.
    """
    # The matrix is symmetric, and its transpose is already in the memory order of LAPACK.
    system = np.array(gram.T, order="F")
    system[np.diag_indices_from(system)] += penalty / importance
    factor = cholesky(system, lower=True, overwrite_a=True, check_finite=False)
    # dpotri fills one triangle in a third of the time that solving for an identity takes.
    inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    solution = blas.dsymv(1.0, inverse, targets, lower=1)
    n_folds = int(folds.max()) + 1
    residuals = np.zeros((len(targets), n_folds), order="F")
    for fold in range(n_folds):
        inside = np.flatnonzero(folds == fold)
        residuals[inside, fold] = _solve(inverse[np.ix_(inside, inside)], solution[inside])
    # The solution without the fold, whose rows then have the coefficient 0.
    parts = solution[:, None] - blas.dsymm(1.0, inverse, residuals, lower=1)
    rows = np.arange(len(targets))
    parts[rows, folds] = 0.0
    return FoldModels(parts.T, targets - residuals[rows, folds])


def _solve(lower: Array, values: Array) -> Array:
    """The solution of a positive definite system, from its lower triangle."""
    return np.asarray(lapack.dposv(lower, values, lower=1)[1])
