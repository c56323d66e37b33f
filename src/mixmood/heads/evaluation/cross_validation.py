"""Out-of-fold predictions of heads, with and without a pool, on the same folds."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.core.errors import ShapeError
from mixmood.heads.evaluation.accuracy import Estimate, accuracy_interval
from mixmood.heads.fitting.directions import directions
from mixmood.heads.fitting.problem import HeadProblem, head_problem
from mixmood.heads.linear import LinearHead
from mixmood.heads.registry import Head
from mixmood.numerics.folds import Folds, training_weights

LARGEST = 60_000_000
"""The largest size of one array of a batch of folds; larger batches are fitted part by part."""
SPREAD = 1.3
"""The standard error of a cross-validated accuracy, as a multiple of that of independent images.

The heads of all folds share most of their training images, and the final head is another one. 1.3
is the smallest tenth with which at least 95 % of 177 intervals on development tasks (20, 60 and 150
labels, clean pools) contain the accuracy on test images: 96 % do; with 1.0, 86 %."""


def out_of_fold_logits(
    heads: Mapping[str, Head],
    features: Array,
    codes: NDArray[np.integer],
    n_classes: int,
    pool: Array | None,
    folds: Folds,
    rng: np.random.Generator,
) -> dict[str, Array]:
    """Logits of every labelled row by heads that did not train on it: (repeats, n, k) for each.

    All folds of all repeats are fitted at once. Every head has the same folds, and its own random
    numbers, which do not depend on the other heads. Rows that are never held out are NaN. The
    held-out rows are not added to the pool.

    Args:
        heads: The heads to fit; `{"supervised": HEADS["supervised"].head}` is the baseline.
        features: Of the labelled images, shape (n, d).
        codes: Their classes, shape (n,).
        n_classes: How many classes there are.
        pool: Of the unlabelled images, shape (m, d); none if None.
        folds: From `repeated_folds`, shape (repeats, n).
        rng: Decides every random choice.
    """
    if folds.ndim != 2 or folds.shape[1] != len(codes):
        raise ShapeError(f"folds must be (repeats, {len(codes)}); got {folds.shape}.")
    weights, held_out = training_weights(folds)
    _, logits = all_logits(heads, features, codes, n_classes, pool, weights, rng)
    repeat_of = np.repeat(np.arange(len(folds)), [len(np.unique(row[row >= 0])) for row in folds])
    found = {}
    for name, one in logits.items():
        outside = np.full((*folds.shape, n_classes), np.nan)
        for repeat, out, row in zip(repeat_of, held_out, one, strict=True):
            outside[repeat, out] = row[out]
        found[name] = outside
    return found


def all_logits(
    heads: Mapping[str, Head],
    features: Array,
    codes: NDArray[np.integer],
    n_classes: int,
    pool: Array | None,
    weights: NDArray[np.float64],
    rng: np.random.Generator,
) -> tuple[dict[str, LinearHead], dict[str, Array]]:
    """Each head fitted to the first problem, and its logits for every labelled row, (B, n, k).

    `weights`, shape (B, n), say which rows train in each problem; the other arguments are those of
    `out_of_fold_logits`.
    """
    problem = head_problem(features, codes, n_classes, pool, weights)
    rows, seed = directions(features), int(rng.integers(2**63))
    first: dict[str, LinearHead] = {}
    logits = {}
    for name, head in heads.items():
        found = []
        for part in parts(problem):
            # The same random numbers for every part: the size of the parts changes nothing.
            fitted = head.fit(part, np.random.default_rng([seed, *name.encode()]))
            first.setdefault(name, fitted[0])
            found.append(fitted.logits_of_rows(rows))
        logits[name] = np.concatenate(found)
    return first, logits


def parts(problem: HeadProblem) -> Iterator[HeadProblem]:
    """The problem in parts whose arrays fit into memory."""
    n_rows = len(problem.rows) + len(problem.pool) + problem.rows.shape[1]
    size = max(1, LARGEST // max(1, n_rows * problem.n_classes))
    if size >= problem.n_problems:
        yield problem
        return
    for start in range(0, problem.n_problems, size):
        yield problem.part(start, min(start + size, problem.n_problems))


def right_by_image(logits: Array, codes: NDArray[np.integer]) -> Array:
    """The share of repeats in which each held-out row was classified correctly, shape (n,).

    NaN for rows that were never held out.
    """
    is_seen = np.isfinite(logits).all(axis=(0, 2))
    right = np.full(len(codes), np.nan)
    right[is_seen] = (logits[:, is_seen].argmax(axis=2) == codes[is_seen]).mean(axis=0)
    return right


def held_out_accuracy(
    logits: Array, codes: NDArray[np.integer], groups: NDArray[np.integer] | None
) -> Estimate:
    """The accuracy on rows that were held out, with its interval; other rows do not count."""
    right = right_by_image(logits, codes)
    seen = np.isfinite(right)
    return accuracy_interval(right[seen], None if groups is None else groups[seen], SPREAD)
