"""Out-of-fold predictions of heads, with and without a pool, on the same folds."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.core.errors import ShapeError
from mixmood.heads.problem import HeadProblem, head_problem
from mixmood.heads.registry import Head
from mixmood.heads.rows import directions
from mixmood.numerics.folds import Folds, training_weights

LARGEST = 60_000_000
"""Numbers that one array of a batch of folds may hold; larger ones are fitted part by part."""


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

    All folds of all repeats are fitted at once, every head on the same folds and with random
    numbers of its own that do not depend on the other heads. Rows that are never held out are NaN.
    The held-out rows are not added to the pool.

    Args:
        heads: What to fit; `{"supervised": HEADS["supervised"].head}` is the base line.
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
    problem = head_problem(features, codes, n_classes, pool, weights)
    rows, seed = directions(features), int(rng.integers(2**63))
    found = {}
    for name, head in heads.items():
        logits = np.full((*folds.shape, n_classes), np.nan)
        repeat_of = _repeats(folds, held_out)
        for first, part in parts(problem):
            # The same numbers for every part: how folds are batched changes nothing.
            fitted = head.fit(part, np.random.default_rng([seed, *name.encode()]))
            for place in range(len(fitted)):
                out = held_out[first + place]
                own = np.asarray(rows[out] @ fitted.weights[place] + fitted.bias[place])
                logits[repeat_of[first + place], out] = own
        found[name] = logits
    return found


def parts(problem: HeadProblem) -> Iterator[tuple[int, HeadProblem]]:
    """The problem in parts whose arrays fit into memory, each with its first place."""
    n_rows = len(problem.rows) + len(problem.pool) + problem.rows.shape[1]
    size = max(1, LARGEST // max(1, n_rows * problem.n_classes))
    for first in range(0, problem.n_problems, size):
        last = min(first + size, problem.n_problems)
        part = problem if last - first == problem.n_problems else problem.part(first, last)
        yield first, part


def right_by_image(logits: Array, codes: NDArray[np.integer]) -> Array:
    """How often each row was classified rightly when held out, shape (n,); NaN if it never was."""
    is_seen = np.isfinite(logits).all(axis=(0, 2))
    right = np.full(len(codes), np.nan)
    right[is_seen] = (logits[:, is_seen].argmax(axis=2) == codes[is_seen]).mean(axis=0)
    return right


def _repeats(folds: Folds, held_out: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The repeat that each batch of held-out rows belongs to, shape (B,)."""
    n_each = [len(np.unique(row[row >= 0])) for row in folds]
    return np.repeat(np.arange(len(folds)), n_each)
