"""What the scores share: checked rows, their folds, models fitted without each fold, and the scale.

The fold of a pool row is a hash of its features, so that a row that was used for fitting is later
scored by the model that was fitted without it: no list of folds is stored.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, cholesky, lapack

from mixmood.core.arrays import Array, Codes
from mixmood.core.errors import OptionError, ShapeError
from mixmood.numerics.checks import checked_features

FitArrays = Mapping[str, NDArray[Any]]  # by name: everything that scoring another row needs

AT_CENTRE = 1e-6
"""A row that is nearer to the centre than this part of its length has no direction: its cosines
are 0. Copies of one image differ from their mean by rounding errors only."""
N_BITS = 64
FEWEST_FOLDS, MOST_FOLDS = 5, 10
MOST_GROUPS = 8  # groups of similar images replace classes if there are no labels
GROUP_SIZE = 20
"""The mean size of these groups. Small ones are a product of chance: a labelled image that is left
out then has similar ones in the other folds, useful pool images do not and seem foreign. With 40
labelled images and a half foreign pool, the mean error of the share is 0.09 with groups of 5, 0.065
with 10, 0.047 with 20 and 0.07 with a single group."""
MOST_TO_GROUP = 1000  # of more images, random folds have nearly equal parts of each class
_ODD = np.uint64(0x9E3779B97F4A7C15)


def checked_rows(
    features: Array, what: str, width: int | None = None, fewest: int = 0
) -> NDArray[np.float64]:
    """The features in double precision, checked by `checked_features`."""
    return checked_features(features, what, width, fewest).astype(np.float64, copy=False)


def checked_sets(
    labelled: Array, pool: Array, labels: Codes | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Labelled and pool features as float64; refuse too few rows, and labels that do not fit."""
    own = checked_rows(labelled, "The labelled images", fewest=2)
    if labels is not None and np.shape(labels) != (len(own),):
        raise ShapeError(
            f"There must be one label for each labelled image, {len(own)} in all; got shape "
            f"{np.shape(labels)}."
        )
    return own, checked_rows(pool, "The pool", own.shape[1], fewest=1)


def signed_roots(features: Array) -> NDArray[np.float64]:
    """The square root of each feature, with its sign.

    A few large features would otherwise decide every cosine; on development tasks roots raise the
    AUROC of each score by 0.00 to 0.02 and lower none by more than 0.002.

    >>> signed_roots(np.array([[4.0, -9.0]])).tolist()
    [[2.0, -3.0]]
    """
    return np.asarray(np.sign(features) * np.sqrt(np.abs(features)), dtype=np.float64)


@dataclass(frozen=True)
class Fit:
    """Arrays that score new rows, and the scores of the fit's rows, each by a fit without it."""

    arrays: FitArrays
    labelled: Array
    pool: Array


@dataclass(frozen=True)
class ComparedRows:
    """Signed roots of labelled and pool features, with the mean of the pool as their centre.

    Cosines of all parts from the inner products of all rows would make a `rank` only 9 % faster.
    """

    rows: NDArray[np.float64]  # labelled rows first, shape (n + m, d)
    n_labelled: int

    def part(self, labelled: NDArray[np.int64], pool: NDArray[np.int64]) -> "ComparedRows":
        """Some of the rows, by their indices: the labelled ones, and those of the pool."""
        return ComparedRows(self.rows[np.concatenate([labelled, pool])], len(labelled))

    @property
    def labelled(self) -> NDArray[np.float64]:
        """The labelled rows, shape (n, d)."""
        return self.rows[: self.n_labelled]

    @property
    def pool(self) -> NDArray[np.float64]:
        """The rows of the pool, shape (m, d)."""
        return self.rows[self.n_labelled :]

    @cached_property
    def centre(self) -> NDArray[np.float64]:
        """The mean of the pool's rows, shape (d,)."""
        return np.asarray(self.pool.mean(axis=0))

    @cached_property
    def moved(self) -> NDArray[np.float64]:
        """Rows minus the centre, shape (n + m, d)."""
        return self.rows - self.centre

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """Lengths of the moved rows, shape (n + m,); infinite for a row at the centre."""
        lengths = np.linalg.norm(self.moved, axis=1)
        is_apart = lengths > AT_CENTRE * np.linalg.norm(self.rows, axis=1)
        return np.where(is_apart, lengths, np.inf)

    @cached_property
    def cosines(self) -> NDArray[np.float64]:
        """Cosines between the moved rows, shape (n + m, n + m)."""
        units = self.moved / self.lengths[:, None]
        return np.asarray(units @ units.T)

    @cached_property
    def labelled_units(self) -> NDArray[np.float64]:
        """Labelled rows, moved and of length 1, shape (n, d)."""
        n = self.n_labelled
        return np.asarray(self.moved[:n] / self.lengths[:n, None])


def compared_rows(labelled: Array, pool: Array) -> ComparedRows:
    """The rows of labelled features, shape (n, d), and of a pool, shape (m, d)."""
    return ComparedRows(signed_roots(np.concatenate([labelled, pool])), len(labelled))


FitRows = Callable[[ComparedRows, Codes | None, Array | None], Fit]
"""From rows, labels or None, and the importance of each labelled image or None if they count the
same, which only cross-fitted scores use."""


def row_positions(rows: Array) -> NDArray[np.float64]:
    """A uniform number in [0, 1) for each row: a hash of 64 comparisons between its features."""
    rng = np.random.default_rng([N_BITS, rows.shape[1]])
    left, right = rng.integers(rows.shape[1], size=(2, N_BITS))
    # With few features a pair occurs again: another factor makes it another comparison.
    factors = rng.uniform(0.5, 2.0, N_BITS) * rng.choice([-1.0, 1.0], N_BITS)
    is_larger = rows[:, left] > factors * rows[:, right]
    words = np.ascontiguousarray(np.packbits(is_larger, axis=1)).view("<u8")[:, 0]
    for shift in (31, 29, 32):
        words = (words ^ (words >> np.uint64(shift))) * _ODD
    return np.asarray((words >> np.uint64(11)) / 2.0**53)


def pool_folds(rows: Array, n_folds: int) -> NDArray[np.int64]:
    """The fold of each row of a pool, shape (n,)."""
    return (row_positions(rows) * n_folds).astype(np.int64)


def folds_by_content(rows: Array, labels: Codes | None) -> NDArray[np.int64]:
    """The fold of each labelled row, 0 and up, every class spread evenly over the folds.

    Otherwise the other folds' model could find a class foreign: the mean AUC of wholly useful pools
    is 0.45 without this and 0.49 with it. Without labels, groups of similar images are classes.
    """
    codes = _groups(rows) if labels is None else np.unique(labels, return_inverse=True)[1]
    folds = np.empty(len(rows), np.int64)
    # Images of a class are ordered by the hash: folds do not depend on the order of the rows.
    order = np.lexsort((row_positions(rows), codes))
    folds[order] = np.arange(len(rows)) % best_n_folds(np.bincount(codes))
    return folds


def best_n_folds(class_sizes: NDArray[np.integer]) -> int:
    """The number of folds, 5 to 10, that divides the classes most evenly; of equals, the largest.

    >>> best_n_folds(np.array([12, 12, 12])), best_n_folds(np.array([20, 20, 20]))
    (6, 10)
    """
    most = min(MOST_FOLDS, int(class_sizes.sum()))
    choices = range(min(FEWEST_FOLDS, most), most + 1)

    def unevenness(n_folds: int) -> float:
        """How far the sizes of the classes are from multiples of the number of folds."""
        rest = class_sizes % n_folds
        return float((rest * (n_folds - rest) / n_folds).sum())

    return min(choices, key=lambda n_folds: (round(unevenness(n_folds), 9), -n_folds))


def _groups(rows: Array) -> NDArray[np.int64]:
    n_groups = min(MOST_GROUPS, len(rows) // GROUP_SIZE)
    if n_groups < 2 or len(rows) > MOST_TO_GROUP:
        return np.zeros(len(rows), np.int64)
    # Imported here: images with classes need no groups, and it takes 0.3 s.
    from scipy.cluster.hierarchy import fcluster, linkage

    tree = linkage(rows, "ward")
    return np.asarray(fcluster(tree, n_groups, "maxclust") - 1, np.int64)


def fit_fold_models(
    gram: Array, targets: Array, importance: Array, folds: NDArray[np.int64], penalty: float
) -> tuple[Array, Array]:
    """Minimise sum_i importance_i (target_i - w'x_i)^2 + penalty |w|^2 without each fold in turn.

    Returns the coefficient of each row in each model, 0 for rows of the model's fold, shape
    (n_folds, n): the weights of the models are coefficients @ rows. Then the value of each row by
    the model that was fitted without it, shape (n,). All models come from one inverse, which makes
    a whole `rank` 15 % faster; a general inverse instead of LAPACK's symmetric one costs 12 %.

    With A = X X' + penalty diag(1 / importance), a = A^-1 t and S the rows of a fold, the residuals
    of its model on S are ((A^-1)_SS)^-1 a_S. `gram` are the inner products X X'.
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
        own = inverse[np.ix_(inside, inside)]
        residuals[inside, fold] = lapack.dposv(own, solution[inside], lower=1)[1]
    # The solution without the fold, whose rows then have the coefficient 0.
    parts = solution[:, None] - blas.dsymm(1.0, inverse, residuals, lower=1)
    rows = np.arange(len(targets))
    parts[rows, folds] = 0.0
    return parts.T, targets - residuals[rows, folds]


def labelled_share(labelled_scores: Array, scores: Array) -> NDArray[np.float64]:
    """The share of labelled images that score no higher than each image, shape (n,).

    0 means less typical than every labelled image, 1 at least as typical as all of them. For an
    image from the same distribution as the labelled ones, all values are equally probable.

    >>> labelled_share(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.5, 2.0, 9.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    ranks = np.searchsorted(np.sort(labelled_scores), scores, side="right")
    return np.asarray(ranks / len(labelled_scores))


def typical_threshold(labelled_scores: Array, share: float) -> float:
    """The score that this share of the labelled images reach: "as typical as 95 % of them".

    >>> typical_threshold(np.arange(1.0, 21.0), 0.95)
    2.0
    """
    if not 0 < share <= 1:
        raise OptionError(f"The share of labelled images must be in (0, 1]; got {share:g}.")
    n_below = len(labelled_scores) - int(np.ceil(share * len(labelled_scores) - 1e-9))
    return float(np.sort(labelled_scores)[n_below])
