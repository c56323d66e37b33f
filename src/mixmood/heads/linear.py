"""Fitted heads: linear classifiers on the directions of features, and checks of their input."""

from dataclasses import dataclass

import numpy as np

from mixmood.core.arrays import Array, Codes
from mixmood.core.errors import InputError, ShapeError
from mixmood.numerics.calibration import softmax
from mixmood.numerics.checks import checked_features
from mixmood.numerics.logistic import Logistic
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

    Roots weaken the few features that are large in an image; the length of a row says more
    about contrast than about classes. A row of zeros stays zero. float32 stays float32, other
    types become float64.

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
