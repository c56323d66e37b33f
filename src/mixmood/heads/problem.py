"""Linear heads on directions of features, fitted to B problems, such as all folds, at once."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from mixmood.core.arrays import Array, Codes
from mixmood.core.errors import InputError, ShapeError
from mixmood.numerics.checks import check_ranges, checked_features
from mixmood.numerics.folds import repeated_folds
from mixmood.numerics.logistic import (
    Logistic,
    RowSpace,
    fit_logistic,
    log_likelihood,
    one_hot,
    row_space,
    softmax,
)
from mixmood.numerics.neighbours import unit_rows

MOST_LOGITS = 30_000_000  # labelled rows times classes; a fit holds several arrays of that size


def check_labelled(features: Array, codes: Codes, n_classes: int) -> None:
    """Refuse labelled rows that are not finite, lack a valid code, or are all of one class."""
    checked_features(features, "The labelled images")
    if codes.shape != features.shape[:1]:
        raise ShapeError(
            f"A head takes one code a row; got shapes {features.shape} and {codes.shape}."
        )
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


def directions(features: Array) -> Array:
    """sign(x) * sqrt(|x|) of every feature, then each row divided by its length.

    Roots weaken the few features that are large in an image; the length says more about contrast
    than about classes. Zeros stay zero, float32 stays float32, other types become float64.

    Source: Perronnin et al., "Improving the Fisher kernel", 2010.

    >>> directions(np.array([[9.0, -16.0]])).tolist()
    [[0.6, -0.8]]
    """
    kind = np.float32 if features.dtype == np.float32 else np.float64
    values = np.asarray(features, kind)
    return unit_rows(np.copysign(np.sqrt(np.abs(values)), values))


@dataclass(frozen=True)
class LinearHead:
    """softmax((directions(features) @ weights + bias) / temperature)."""

    weights: Array  # shape (d, k)
    bias: Array  # shape (k,)
    temperature: float = 1.0  # divides the logits, for calibration; changes no class

    def logits(self, features: Array) -> Array:
        """Logits before the temperature, shape (n, k), of features, shape (n, d)."""
        checked_features(features, "The images", len(self.weights))
        return np.asarray(directions(features) @ self.weights + self.bias)

    def predict_proba(self, features: Array) -> Array:
        """Class probabilities, shape (n, k)."""
        return softmax(self.logits(features) / self.temperature, axis=-1)

    def predict(self, features: Array) -> Codes:
        """The code of the most probable class of each row, shape (n,)."""
        return np.asarray(self.logits(features).argmax(axis=1))


@dataclass(frozen=True)
class LinearHeads(Logistic):
    """The heads of B problems."""

    def __getitem__(self, place: int) -> LinearHead:
        """The head of one problem."""
        return LinearHead(self.weights[place], self.bias[place])

    def logits_of_rows(self, rows: Array) -> Array:
        """Logits, shape (B, n, k), of rows that are directions already."""
        # Single precision, where the features have it, halves the time and changes no class.
        return Logistic(self.weights.astype(rows.dtype), self.bias).logits(rows)


PENALTIES = (0.01, 0.1, 1.0)  # of supervised heads, in multiples of the spread
DEFAULT_PENALTY = 0.1  # the penalty if it cannot be cross-validated
N_FOLDS = 5
MOST_WORK = 200_000_000  # if a fit takes more (hundreds of classes), the penalty is DEFAULT_PENALTY
TOLERANCE, ROUGH_TOLERANCE = 1e-4, 1e-3  # of a fit; of one that is compared, or has soft labels
N_DIRECTIONS = 192


@dataclass(frozen=True)
class LabelledRows:
    """Labelled rows, and which of them train in each of B problems."""

    rows: Array  # directions of the labelled features, shape (n, d)
    codes: Codes  # the class of each row, shape (n,)
    n_classes: int
    weights: Array  # 1 where a row trains, 0 where it is held out, shape (B, n)
    space: RowSpace  # the rows in a basis of their own; all problems share it

    @cached_property
    def targets(self) -> Array:
        """The labels as probabilities, shape (n, k)."""
        return one_hot(self.codes, self.n_classes)

    @cached_property
    def spread(self) -> float:
        """The mean squared distance of the rows from their mean; 1 if they are all equal."""
        # Penalties are multiples of it, so that they mean the same for every backbone.
        rows = np.asarray(self.rows, float)
        spread = float(((rows - rows.mean(axis=0)) ** 2).sum(axis=1).mean())
        return spread if spread > 0 else 1.0

    @cached_property
    def penalties(self) -> Array:
        """The penalty of each problem's supervised head, in multiples of the spread; shape (B,).

        Each problem chooses among PENALTIES by the log-likelihood of its own training rows, held
        out in turn. The folds do not depend on a seed, so that all heads start from the same one.
        """
        n_problems, n_rows = self.weights.shape
        is_large = work_of(self.rows, self.n_classes) > MOST_WORK
        if np.bincount(self.codes).max() < 2 or is_large:
            return np.full(n_problems, DEFAULT_PENALTY)
        _, first, places = np.unique(self.codes, return_index=True, return_inverse=True)
        # Classes are numbered by their first rows, so that folds do not depend on class names.
        codes = np.argsort(np.argsort(first))[places]
        folds = repeated_folds(codes, N_FOLDS, 1, np.random.default_rng(0))[0]
        held_out = folds[None, :] == np.arange(folds.max() + 1)[:, None]
        trains = (self.weights[:, None, :] * ~held_out).reshape(-1, n_rows)
        fits = fit_logistic(
            # There are as many coordinates as rows: weights of all features are never computed.
            self.space.coordinates,
            self.targets,
            np.repeat(trains, len(PENALTIES), axis=0),
            np.tile(PENALTIES, len(trains)) * self.spread,
            tolerance=ROUGH_TOLERANCE,
            single=True,
        )
        scores = log_likelihood(fits.logits(self.space.coordinates), self.codes)
        by_fold = scores.reshape(n_problems, len(held_out), len(PENALTIES), n_rows)
        judged = self.weights[:, None, None, :] * held_out[:, None, :]
        total = (by_fold * judged).sum(axis=(1, 3))
        return np.asarray(np.array(PENALTIES)[total.argmax(axis=1)])

    @cached_property
    def supervised(self) -> LinearHeads:
        """The supervised heads of all problems, from which other heads start."""
        return self.heads_at(self.penalties)

    def heads_at(self, penalties: Array) -> LinearHeads:
        """Supervised heads with given penalties, in multiples of the spread; shape (B,)."""
        scaled, space = penalties * self.spread, self.space
        fit = fit_logistic(
            space.coordinates, self.targets, self.weights, scaled, tolerance=TOLERANCE
        )
        weights = fit.weights if space.basis is None else np.matmul(space.basis, fit.weights)
        return LinearHeads(weights, fit.bias - np.matmul(space.centre, weights))


@dataclass(frozen=True)
class JointRows:
    """Labelled rows and those of the pool, in a small basis for heads with soft labels."""

    labelled: Array  # directions of the labelled features, shape (n, d)
    pool: Array  # directions of the unlabelled features, shape (m, d); m may be 0
    useful: Array  # the chance of each row of the pool to belong to a labelled class, shape (m,)

    @cached_property
    def basis(self) -> Array:
        """Orthonormal columns, shape (d, r); r is at most n plus N_DIRECTIONS.

        They span the labelled rows and the directions in which the pool varies most, from one step
        of a randomised singular value decomposition with a fixed start: they depend neither on a
        seed nor on the order of the rows. A whole `train --algorithm propagation` takes 1.1 s, and
        1.7 s with all 1280 features.

        Source: Halko, Martinsson and Tropp, "Finding structure with randomness", 2011.
        """
        pool, width = self.pool, self.pool.shape[1]
        if width <= len(self.labelled) + N_DIRECTIONS:
            return np.eye(width)
        centred = pool - pool.mean(axis=0)
        start = np.random.default_rng(0).normal(size=(width, N_DIRECTIONS)).astype(pool.dtype)
        varying = centred.T @ (centred @ start)
        own = np.asarray(self.labelled - pool.mean(axis=0), float).T
        columns = np.concatenate([own, np.asarray(varying, float)], axis=1)
        # Columns of very different lengths would lose the short ones in rounding.
        lengths = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
        return np.asarray(np.linalg.qr(columns / lengths)[0])

    @cached_property
    def coordinates(self) -> Array:
        """The labelled rows and then those of the pool in the basis, shape (n + m, r)."""
        # In the precision of the features: a product in double precision takes twice as long.
        narrow = self.basis.astype(self.pool.dtype)
        return np.concatenate([self.labelled @ narrow, self.pool @ narrow]).astype(float)


@dataclass(frozen=True)
class HeadProblem:
    """B problems with the same labelled rows and the same pool."""

    labelled: LabelledRows
    joint: JointRows

    @property
    def pool(self) -> Array:
        """Directions of the unlabelled features, shape (m, d); m may be 0."""
        return self.joint.pool

    @property
    def n_problems(self) -> int:
        """How many problems there are (B)."""
        return len(self.labelled.weights)

    def part(self, first: int, last: int) -> "HeadProblem":
        """The problems first to last - 1."""
        weights = self.labelled.weights[first:last]
        return HeadProblem(replace(self.labelled, weights=weights), self.joint)

    def with_pool(self, features: Array, useful: Array | None = None) -> "HeadProblem":
        """This problem with another pool; the labelled rows and supervised heads stay."""
        checked_features(features, "The pool", self.pool.shape[1])
        return HeadProblem(self.labelled, _joint_rows(self.labelled.rows, features, useful))

    def fit_joint(
        self, pool_targets: Array, pool_weights: Array, start: LinearHeads
    ) -> LinearHeads:
        """Logistic regressions on labelled rows and pool, whose targets are (B, m, k)."""
        own, basis = self.labelled, self.joint.basis
        shape = (self.n_problems, *own.targets.shape)
        fit = fit_logistic(
            self.joint.coordinates,
            np.concatenate([np.broadcast_to(own.targets, shape), pool_targets], axis=1),
            np.concatenate([own.weights, pool_weights], axis=1),
            own.penalties * own.spread,
            tolerance=ROUGH_TOLERANCE,
            start=Logistic(np.matmul(basis.T, start.weights), start.bias),
            single=True,
        )
        return LinearHeads(np.matmul(basis, fit.weights), fit.bias)


class Head:
    """Settings of one kind of head, which are its fields, and how it is fitted."""

    uses_pool: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse settings outside of their ranges."""
        check_ranges(self)

    def fit(self, problem: HeadProblem, rng: np.random.Generator) -> LinearHeads:
        """The heads of all problems; the same input and generator give the same bytes."""
        raise NotImplementedError


@dataclass(frozen=True)
class SupervisedHead(Head):
    """Logistic regression with an L2 penalty, from which other heads start: see `LabelledRows`."""

    uses_pool: ClassVar[bool] = False

    def fit(self, problem: HeadProblem, rng: np.random.Generator) -> LinearHeads:
        """The supervised heads of all problems; the pool is not used."""
        return problem.labelled.supervised


def work_of(rows: Array, n_classes: int) -> int:
    """Rows x coordinates x classes; there are as many coordinates as rows, or features if fewer."""
    return int(len(rows) * min(rows.shape) * n_classes)


def head_problem(
    features: Array,
    codes: Codes,
    n_classes: int,
    pool: Array | None = None,
    weights: Array | None = None,
    useful: Array | None = None,
) -> HeadProblem:
    """The checked problem from features of labelled and unlabelled images, (n, d) and (m, d).

    Rows are put in an order that depends on their content alone, not on that of files. `weights`
    are 1 where a row trains, shape (B, n); one problem with all rows if None. `useful` is the
    chance of each row of the pool to belong to a labelled class, shape (m,); 1 if None.
    """
    check_labelled(features, codes, n_classes)
    unlabelled = features[:0] if pool is None else pool
    checked_features(unlabelled, "The pool", features.shape[1])
    trains = np.ones((1, len(codes))) if weights is None else weights
    if trains.ndim != 2 or trains.shape[1] != len(codes):
        raise ShapeError(f"weights must be (B, {len(codes)}); got {trains.shape}.")
    rows = directions(features)
    order = canonical_order(rows, codes)
    rows = rows[order]
    space, ordered = row_space(np.asarray(rows, float)), np.asarray(trains[:, order], float)
    labelled = LabelledRows(rows, codes[order], n_classes, ordered, space)
    return HeadProblem(labelled, _joint_rows(rows, unlabelled, useful))


def canonical_order(rows: Array, codes: Codes | None = None) -> Codes:
    """An order of the rows that depends on their values (then codes), not on the order of files."""
    direction = np.random.default_rng(0).normal(size=rows.shape[1])
    keys = np.einsum("ij,j->i", rows, direction, dtype=np.float64)
    return np.lexsort((keys,) if codes is None else (codes, keys))


def _joint_rows(labelled: Array, pool: Array, useful: Array | None) -> JointRows:
    chances = np.ones(len(pool)) if useful is None else np.asarray(useful, float)
    if chances.shape != (len(pool),):
        raise ShapeError(f"useful must be ({len(pool)},), one a pool row; got {chances.shape}.")
    rows = directions(pool)
    order = canonical_order(rows)
    return JointRows(labelled, rows[order], chances[order])
