"""Class-balanced self-training: the most confident guesses of each class become labels."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.heads.linear import LinearHeads
from mixmood.heads.problem import HeadProblem
from mixmood.numerics.calibration import softmax
from mixmood.numerics.checks import check_setting


@dataclass(frozen=True)
class PseudoLabelHead:
    """Self-training with the same number of images of each class.

    In every round the head predicts the pool. The most confident images of each class then train
    as if they were labelled; their share of the pool grows from round to round up to
    `last_share`. Together they weigh `pool_weight` times as much as the labelled rows. The same
    number of each class keeps one class from dominating the others. An empty pool gives the
    supervised head.
    """

    n_rounds: int = 2
    last_share: float = 0.9
    pool_weight: float = 0.3

    def __post_init__(self) -> None:
        """Refuse settings outside their ranges."""
        check_setting("n_rounds", self.n_rounds, 1)
        check_setting("last_share", self.last_share, 0, 1)
        check_setting("pool_weight", self.pool_weight, 0)

    def fit(self, problem: HeadProblem, rng: np.random.Generator) -> LinearHeads:
        """The self-trained heads of all problems."""
        heads = problem.labelled.supervised
        if len(problem.pool) == 0 or self.pool_weight == 0:
            return heads
        for number in range(1, self.n_rounds + 1):
            share = self.last_share * number / self.n_rounds
            p = softmax(heads.logits_of_rows(problem.pool))
            n_each = max(1, round(share * len(problem.pool) / problem.labelled.n_classes))
            targets, is_taken = most_confident(p, n_each)
            weights = self._weights(problem, is_taken)
            heads = problem.fit_joint(targets, weights, heads)
        return heads

    def _weights(self, problem: HeadProblem, is_taken: NDArray[np.bool_]) -> Array:
        labelled = problem.labelled.weights.sum(axis=1, keepdims=True)
        taken = np.maximum(is_taken.sum(axis=1, keepdims=True), 1)
        return np.asarray(is_taken * (self.pool_weight * labelled / taken))


def most_confident(p: Array, n_each: int) -> tuple[Array, NDArray[np.bool_]]:
    """Hard labels, shape (B, m, k), and the most confident rows of each class, shape (B, m).

    The label of a row is its most probable class. Of each class the `n_each` most confident rows
    are taken, or all if there are fewer; of equal ones the first.
    """
    guessed = p.argmax(axis=2)
    confidence = p.max(axis=2)
    order = np.argsort(-confidence, axis=1, kind="stable")
    targets = np.zeros_like(p)
    np.put_along_axis(targets, guessed[:, :, None], 1.0, axis=2)
    sorted_targets = np.take_along_axis(targets, order[:, :, None], axis=1)
    place = (np.cumsum(sorted_targets, axis=1) * sorted_targets).sum(axis=2)
    is_taken = np.zeros(guessed.shape, bool)
    np.put_along_axis(is_taken, order, place <= n_each, axis=1)
    return targets, is_taken
