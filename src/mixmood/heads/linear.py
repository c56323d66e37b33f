"""Fitted heads: linear classifiers on the directions of features."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.heads.checks import check_width
from mixmood.heads.fitting.directions import directions
from mixmood.numerics.logistic import Logistic
from mixmood.numerics.softmax import softmax


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
