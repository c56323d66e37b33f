"""The data of a fit: labelled rows, a pool, and which rows train in each of B problems."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.core.errors import ShapeError
from mixmood.heads.checks import check_labelled, check_pool
from mixmood.heads.fitting.directions import canonical_order, directions
from mixmood.numerics.logistic import one_hot
from mixmood.numerics.row_space import RowSpace, row_space


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
