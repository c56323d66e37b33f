"""Probabilities from logits, without overflow."""

import numpy as np

from mixmood.core.arrays import Array


def log_softmax(logits: Array, axis: int = -1) -> Array:
    """Logarithms of the class probabilities along an axis.

    >>> log_softmax(np.array([[0.0, 0.0], [1000.0, 0.0]])).round(4).tolist()
    [[-0.6931, -0.6931], [0.0, -1000.0]]
    """
    shifted = logits - logits.max(axis=axis, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    return np.asarray(shifted)


def softmax(logits: Array, axis: int = -1) -> Array:
    """Class probabilities along an axis: exp(logit) over the sum of all exp(logit)."""
    shares = logits - logits.max(axis=axis, keepdims=True)
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=axis, keepdims=True)
    return np.asarray(shares)
