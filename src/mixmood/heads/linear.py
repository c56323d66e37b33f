"""Fitted heads: linear classifiers on the directions of features."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.heads.problem import HeadProblem, check_width, directions, joint_coordinates
from mixmood.numerics.calibration import softmax
from mixmood.numerics.logistic import Logistic, fit_logistic


@dataclass(frozen=True)
class LinearHead:
    """softmax((directions(features) @ weights + bias) / temperature)."""

    weights: Array
    """Shape (d, k)."""
    bias: Array
    """Shape (k,)."""
    temperature: float = 1.0
    """Divides the logits, so that probabilities are calibrated; it changes no predicted class."""

    def logits(self, features: Array) -> Array:
        """Logits before the temperature, shape (n, k), of features, shape (n, d)."""
        check_width(features, len(self.weights))
        return np.asarray(directions(features) @ self.weights + self.bias)

    def predict_proba(self, features: Array) -> Array:
        """Class probabilities, shape (n, k)."""
        return softmax(self.logits(features) / self.temperature)

    def predict(self, features: Array) -> NDArray[np.intp]:
        """The code of the most probable class of each row, shape (n,)."""
        return np.asarray(self.logits(features).argmax(axis=1))

    def at_temperature(self, temperature: float) -> "LinearHead":
        """The same head with another temperature."""
        return replace(self, temperature=temperature)


@dataclass(frozen=True)
class LinearHeads:
    """The heads of B problems: weights (B, d, k) and biases (B, k)."""

    weights: Array
    bias: Array

    def __len__(self) -> int:
        """The number of problems (B)."""
        return len(self.weights)

    def __getitem__(self, place: int) -> LinearHead:
        """The head of one problem."""
        return LinearHead(self.weights[place], self.bias[place])

    def logits_of_rows(self, rows: Array) -> Array:
        """Logits, shape (B, n, k), of rows that are directions already."""
        # Single precision, where the features have it, halves the time and changes no class.
        return Logistic(self.weights.astype(rows.dtype), self.bias).logits(rows)


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
