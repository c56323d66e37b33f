"""Linear heads fitted to labelled rows and to class probabilities of the pool."""

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.heads.fitting.basis import joint_coordinates
from mixmood.heads.fitting.problem import HeadProblem
from mixmood.heads.linear import LinearHeads
from mixmood.numerics.logistic import Logistic, fit_logistic

TOLERANCE = 1e-3


def fit_joint(
    problem: HeadProblem,
    pool_targets: Array,
    pool_weights: Array,
    penalties: NDArray[np.float64],
    start: LinearHeads,
) -> LinearHeads:
    """Logistic regressions on labelled and unlabelled rows together, in the joint basis.

    Args:
        problem: Rows, labels, pool and which rows train.
        pool_targets: Class probabilities of the pool, shape (B, m, k).
        pool_weights: How much each row of the pool counts, shape (B, m).
        penalties: Shape (B,), in multiples of the spread.
        start: Heads to start from, projected on the basis.
    """
    basis, coordinates = joint_coordinates(problem)
    shape = (problem.n_problems, len(problem.rows), problem.n_classes)
    targets = np.concatenate([np.broadcast_to(problem.targets, shape), pool_targets], axis=1)
    weights = np.concatenate([problem.weights, pool_weights], axis=1)
    fit = fit_logistic(
        coordinates,
        targets,
        weights,
        penalties * problem.spread,
        tolerance=TOLERANCE,
        start=Logistic(np.matmul(basis.T, start.weights), start.bias),
        single=True,
    )
    return LinearHeads(np.matmul(basis, fit.weights), fit.bias)
