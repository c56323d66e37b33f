"""Probabilities from logits, without overflow."""

import numpy as np

from mixmood.core.arrays import Array


def log_softmax(logits: Array) -> Array:
    """Logarithms of the class probabilities, along the last axis.

    >>> log_softmax(np.array([[0.0, 0.0], [1000.0, 0.0]])).round(4).tolist()
    [[-0.6931, -0.6931], [0.0, -1000.0]]
    """
    shifted = logits - logits.max(axis=-1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return np.asarray(shifted)


def softmax(logits: Array) -> Array:
    """Class probabilities along the last axis: exp(logit) over the sum of all exp(logit)."""
    shares = logits - logits.max(axis=-1, keepdims=True)
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=-1, keepdims=True)
    return np.asarray(shares)
