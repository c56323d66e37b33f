"""A small basis of labelled rows and pool, in which heads are fitted to soft labels."""

import numpy as np

from mixmood.core.arrays import Array
from mixmood.heads.fitting.problem import HeadProblem

N_DIRECTIONS = 192


def joint_coordinates(problem: HeadProblem) -> tuple[Array, Array]:
    """A basis, shape (d, r), and the coordinates of labelled rows and pool in it, shape (n + m, r).

    The columns are orthonormal. They span the labelled rows and the directions in which the pool
    varies most; r is at most the number of labelled rows plus N_DIRECTIONS. The pool's directions
    come from one step of a randomised singular value decomposition. Its random start is fixed
    and has a row for each feature, so that it depends neither on a seed nor on the order of the
    rows. The result is cached in `problem`.

    Source: Halko, Martinsson and Tropp, "Finding structure with randomness", 2011.
    """
    if "basis" not in problem.__dict__:
        basis = _basis(problem.rows, problem.pool)
        # In the precision of the features: a product in double precision takes twice as long.
        narrow = basis.astype(problem.pool.dtype)
        rows = np.concatenate([problem.rows @ narrow, problem.pool @ narrow]).astype(float)
        problem.__dict__["basis"] = (basis, rows)
    basis, rows = problem.__dict__["basis"]
    return basis, rows


def _basis(rows: Array, pool: Array) -> Array:
    width = rows.shape[1]
    if width <= len(rows) + N_DIRECTIONS:
        return np.eye(width)
    centred = pool - pool.mean(axis=0)
    start = np.random.default_rng(0).normal(size=(width, N_DIRECTIONS)).astype(pool.dtype)
    found = centred.T @ (centred @ start)
    own = np.asarray(rows - pool.mean(axis=0), float).T
    columns = np.concatenate([own, np.asarray(found, float)], axis=1)
    # Columns of very different lengths would lose the short ones in rounding.
    lengths = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    return np.asarray(np.linalg.qr(columns / lengths)[0])
