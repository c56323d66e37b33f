"""The data of a fit: labelled rows, a pool, and which rows train in each of B problems."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.core.errors import InputError, OptionError, ShapeError
from mixmood.numerics.logistic import one_hot
from mixmood.numerics.neighbours import unit_rows
from mixmood.numerics.row_space import RowSpace, row_space

MOST_LOGITS = 30_000_000
"""The largest number of labelled rows times classes; a fit holds several arrays of that size."""


def check_labelled(features: Array, codes: NDArray[np.integer], n_classes: int) -> None:
    """Refuse labelled rows that are not finite, lack a valid code, or are all of one class."""
    if features.ndim != 2 or codes.shape != features.shape[:1] or features.shape[1] == 0:
        raise ShapeError(
            "A head takes features (n, d) and one code a row; got shapes "
            f"{features.shape} and {codes.shape}."
        )
    check_finite(features, "labelled")
    if len(codes) == 0 or codes.min() < 0 or codes.max() >= n_classes:
        raise InputError(
            f"Codes must be 0 to {n_classes - 1}, with at least one row; got "
            f"{f'{codes.min()} to {codes.max()}' if len(codes) else 'no rows'}."
        )
    check_amount(len(codes), n_classes)
    n_found = len(np.unique(codes))
    if n_found < 2:
        raise InputError(
            f"A classifier needs labelled images of two classes or more; got {n_found}. "
            "Label images of another class too."
        )


def check_amount(n_rows: int, n_classes: int) -> None:
    """Refuse so many images of so many classes that a fit would not end in reasonable time."""
    if n_rows * n_classes > MOST_LOGITS:
        raise InputError(
            f"A head takes at most {MOST_LOGITS:,} images times classes; got {n_rows:,} images "
            f"of {n_classes:,} classes. Leave classes out, or train on a part of the images."
        )


def check_pool(pool: Array, width: int) -> None:
    """Refuse a pool of another width or with values that are not finite; it may be empty."""
    if pool.ndim != 2 or pool.shape[1] != width:
        raise ShapeError(
            f"The pool must have features of the same width as the labelled images, {width}; got "
            f"shape {pool.shape}. Extract both with the same backbone."
        )
    check_finite(pool, "unlabelled")


def check_width(features: Array, width: int) -> None:
    """Refuse features of another width than the head was trained on."""
    if features.ndim != 2 or features.shape[1] != width:
        raise ShapeError(
            f"This head takes features of shape (n, {width}); got {features.shape}. Extract them "
            "with the backbone that it was trained with."
        )
    check_finite(features, "given")


def check_finite(features: Array, which: str) -> None:
    """Refuse NaN and infinity."""
    if not np.isfinite(features).all():
        n_bad = int((~np.isfinite(features).all(axis=1)).sum())
        raise InputError(
            f"{n_bad} of {len(features)} {which} rows hold NaN or infinity. Drop those rows first."
        )


def check_setting(name: str, value: float, low: float, high: float = np.inf) -> None:
    """Refuse a setting outside its range."""
    if not low <= value <= high:
        most = "" if high == np.inf else f" and at most {high:g}"
        raise OptionError(f"{name} must be at least {low:g}{most}; got {value:g}.")


def directions(features: Array) -> Array:
    """sign(x) * sqrt(|x|) of every feature, then each row divided by its length.

    Roots weaken the few features that are large in an image; the length of a row says more
    about contrast than about classes. A row of zeros stays zero. Input and output have shape
    (n, d); float32 stays float32, other types become float64.

    Source: Perronnin et al., "Improving the Fisher kernel", 2010.

    >>> directions(np.array([[9.0, -16.0]])).tolist()
    [[0.6, -0.8]]
    """
    kind = np.float32 if features.dtype == np.float32 else np.float64
    values = np.asarray(features, kind)
    return unit_rows(np.copysign(np.sqrt(np.abs(values)), values))


def canonical_order(rows: Array, codes: NDArray[np.integer] | None = None) -> NDArray[np.intp]:
    """An order of the rows that depends on their values only, not on their present order.

    Random draws from rows in this order do not change when a folder is listed in another order.
    Equal rows are ordered by their codes.
    """
    direction = np.random.default_rng(0).normal(size=rows.shape[1])
    keys = np.einsum("ij,j->i", rows, direction, dtype=np.float64)
    return np.lexsort((keys,) if codes is None else (codes, keys))


@dataclass(frozen=True)
class HeadProblem:
    """B problems with the same rows: the folds of a cross-validation, or one with all rows."""

    rows: Array
    """Directions of the labelled features, shape (n, d)."""
    codes: NDArray[np.integer]
    """The class of each labelled row, shape (n,)."""
    n_classes: int
    pool: Array
    """Directions of the unlabelled features, shape (m, d); m may be 0."""
    weights: NDArray[np.float64]
    """1 where a labelled row trains, 0 where it is held out, shape (B, n)."""

    @cached_property
    def targets(self) -> NDArray[np.float64]:
        """The labels as probabilities, shape (n, k)."""
        return one_hot(self.codes, self.n_classes)

    @cached_property
    def spread(self) -> float:
        """The mean squared distance of the labelled rows from their mean; 1 if they are all equal.

        Penalties are multiples of it, so that they mean the same for every backbone.
        """
        rows = np.asarray(self.rows, float)
        spread = float(((rows - rows.mean(axis=0)) ** 2).sum(axis=1).mean())
        return spread if spread > 0 else 1.0

    @cached_property
    def space(self) -> RowSpace:
        """The labelled rows in a basis of their own; all problems share it."""
        return row_space(np.asarray(self.rows, float))

    @property
    def work(self) -> int:
        """Multiplications of one pass over all labelled rows: rows x coordinates x classes."""
        return work_of(self.rows, self.n_classes)

    @property
    def n_problems(self) -> int:
        """How many problems there are (B)."""
        return len(self.weights)

    def part(self, first: int, last: int) -> "HeadProblem":
        """The problems first to last - 1."""
        part = HeadProblem(
            self.rows, self.codes, self.n_classes, self.pool, self.weights[first:last]
        )
        # These values do not depend on which rows train: they are computed once for all parts.
        shared = ("targets", "spread", "space", "neighbourhood", "basis")
        part.__dict__.update({key: self.__dict__[key] for key in shared if key in self.__dict__})
        return part

    def with_pool(self, features: Array) -> "HeadProblem":
        """The same labelled rows with another pool, given as features of a backbone.

        Values that depend on the labelled rows alone, such as the supervised heads, are reused.
        """
        check_pool(features, self.rows.shape[1])
        others = directions(features)
        other = HeadProblem(
            self.rows, self.codes, self.n_classes, others[canonical_order(others)], self.weights
        )
        kept = ("targets", "spread", "supervised")
        other.__dict__.update({key: self.__dict__[key] for key in kept if key in self.__dict__})
        return other


def work_of(rows: Array, n_classes: int) -> int:
    """Rows x coordinates x classes; there are as many coordinates as rows, or features if fewer."""
    return int(len(rows) * min(rows.shape) * n_classes)


def head_problem(
    features: Array,
    codes: NDArray[np.integer],
    n_classes: int,
    pool: Array | None = None,
    weights: NDArray[np.float64] | None = None,
) -> HeadProblem:
    """The checked problem from features of a backbone.

    Rows are put in an order that depends on their content alone, so that heads do not depend on
    the order in which files are listed.

    Args:
        features: Of the labelled images, shape (n, d).
        codes: Their classes, 0 to n_classes - 1, shape (n,).
        n_classes: How many classes there are.
        pool: Of the unlabelled images, shape (m, d); none if None.
        weights: 1 where a row trains, shape (B, n); one problem with all rows if None.
    """
    check_labelled(features, codes, n_classes)
    unlabelled = features[:0] if pool is None else pool
    check_pool(unlabelled, features.shape[1])
    trains = np.ones((1, len(codes))) if weights is None else weights
    if trains.ndim != 2 or trains.shape[1] != len(codes):
        raise ShapeError(f"weights must be (B, {len(codes)}); got {trains.shape}.")
    rows, others = directions(features), directions(unlabelled)
    order = canonical_order(rows, codes)
    return HeadProblem(
        rows[order],
        codes[order],
        n_classes,
        others[canonical_order(others)],
        np.asarray(trains[:, order], float),
    )


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
