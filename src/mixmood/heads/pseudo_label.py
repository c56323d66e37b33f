"""Self-training: the most confident guesses of each class become labels."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.heads.linear import LinearHeads
from mixmood.heads.problem import HeadProblem
from mixmood.numerics.calibration import softmax
from mixmood.numerics.checks import RangedSettings, ranged

FULL_SHARE = 0.2
"""Pseudo-labels have their full weight where they are at least this share of the pool."""


@dataclass(frozen=True)
class PseudoLabelHead(RangedSettings):
    """Self-training with so many images of each class as the pool seems to have.

    In every round the head predicts the pool. The most confident images of each class then train
    as if they were labelled; their share of the useful images grows from round to round up to
    `last_share`. Each counts by its chance to be useful, which also scales its confidence.
    Together they weigh `pool_weight` times as much as the labelled rows, and less where they are
    few in a large pool. How many images of a class are taken follows its predicted share of the
    pool, moved by `equal_share` towards equal shares, so that no class dominates the others. An
    empty pool gives the supervised head.

    Equal numbers of each class harm where a pool is uneven. On development tasks with 4, 12, 30
    labels a class, pools with classes of 6 : 3 : 2 : 1 gain -1.1, -0.8, -1.4 points with equal
    numbers and +1.4, +0.7, -0.6 with a quarter; even ones +4.7, +0.9, +0.2 and +4.2, +0.8, +0.2
    (three seeds; `python -m benchmarks.heads.choice`).

    With equal numbers, 4 labels a class and pools that are clean, half near foreign, half far
    foreign, wholly near and wholly far foreign, the chances change the gain from +3.6, +0.5, +1.0,
    -6.5, -2.5 points to +3.3, +2.5, +3.0, -0.8, 0.0 (eight seeds); MixMatch has +1.8, +0.2, +1.6,
    -12.3, -8.1 and propagation +1.9, +1.4, +1.2, +0.3, +0.1.
    """

    n_rounds: int = ranged(2, 1)
    last_share: float = ranged(0.9, 0, 1)
    pool_weight: float = ranged(1.0, 0)
    equal_share: float = ranged(0.25, 0, 1)

    def fit(self, problem: HeadProblem, rng: np.random.Generator) -> LinearHeads:
        """The self-trained heads of all problems."""
        heads = problem.labelled.supervised
        if len(problem.pool) == 0 or self.pool_weight == 0:
            return heads
        for number in range(1, self.n_rounds + 1):
            share = self.last_share * number / self.n_rounds
            p = softmax(heads.logits_of_rows(problem.pool))
            useful, n_classes = problem.joint.useful, problem.labelled.n_classes
            shares = (p * useful[:, None]).sum(axis=1)
            shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
            shares = self.equal_share / n_classes + (1 - self.equal_share) * shares
            n_each = np.maximum(1, np.round(share * useful.sum() * shares))
            targets, is_taken = most_confident(p, n_each, useful)
            weights = self._weights(problem, is_taken, share)
            heads = problem.fit_joint(targets, weights, heads)
        return heads

    def _weights(self, problem: HeadProblem, is_taken: NDArray[np.bool_], share: float) -> Array:
        labelled = problem.labelled.weights.sum(axis=1, keepdims=True)
        weights = is_taken * problem.joint.useful
        total = weights.sum(axis=1, keepdims=True)
        # A few useful images of a large foreign pool must not count as much as all labelled ones.
        total = np.maximum(total, FULL_SHARE * share * len(problem.pool))
        return np.asarray(weights * (self.pool_weight * labelled / total))


def most_confident(
    p: Array, n_each: Array | int, useful: Array | float = 1.0
) -> tuple[Array, NDArray[np.bool_]]:
    """Hard labels, shape (B, m, k), and the most confident rows of each class, shape (B, m).

    The label of a row is its most probable class. Of each class the `n_each` most confident rows
    are taken, or all if there are fewer; of equal ones the first. `n_each` is one number, or has
    shape (B, k). Where a row is hardly useful, its confidence moves to that of a guess among the
    classes.
    """
    guessed = p.argmax(axis=2)
    confidence = useful * (p.max(axis=2) - 1 / p.shape[2])
    order = np.argsort(-confidence, axis=1, kind="stable")
    targets = np.zeros_like(p)
    np.put_along_axis(targets, guessed[:, :, None], 1.0, axis=2)
    sorted_targets = np.take_along_axis(targets, order[:, :, None], axis=1)
    place = (np.cumsum(sorted_targets, axis=1) * sorted_targets).sum(axis=2)
    is_taken = np.zeros(guessed.shape, bool)
    limits = np.broadcast_to(n_each, (len(p), p.shape[2]))
    most = np.take_along_axis(limits, np.take_along_axis(guessed, order, axis=1), axis=1)
    np.put_along_axis(is_taken, order, place <= most, axis=1)
    return targets, is_taken
