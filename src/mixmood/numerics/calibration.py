"""Probabilities from logits: softmax, and the temperature that calibrates it."""

import numpy as np

from mixmood.core.arrays import Array, Codes


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


COLDEST, HOTTEST = 0.05, 20.0
MAX_UPDATES = 30


def fit_temperature(logits: Array, codes: Codes) -> float:
    """The temperature t at which softmax(logits / t) gives the labels the largest likelihood.

    The logits, shape (n, k) or (repeats, n, k), must come from images that the classifier was not
    trained on (out of fold). If all predictions are right, t is COLDEST; if the logits say nothing
    about the labels, codes of shape (n,), it is HOTTEST.

    Source: Guo et al., "On calibration of modern neural networks", 2017.
    """
    rows = logits.reshape(-1, logits.shape[-1])
    rows = rows - rows.max(axis=1, keepdims=True)
    labels = np.tile(codes, len(rows) // len(codes))
    right = rows[np.arange(len(rows)), labels]
    low, high = 1 / HOTTEST, 1 / COLDEST
    # The slope of the log-likelihood falls as 1/t grows: bisection for its only zero.
    for _ in range(MAX_UPDATES):
        sharpness = np.sqrt(low * high)
        slope = float((right - (softmax(sharpness * rows) * rows).sum(axis=1)).mean())
        low, high = (sharpness, high) if slope > 0 else (low, sharpness)
    return float(1 / np.sqrt(low * high))


def log_likelihood(logits: Array, codes: Codes) -> Array:
    """The logarithm of the probability of the right class: (..., n, k) in, (..., n) out."""
    index = np.broadcast_to(codes, logits.shape[:-1])[..., None]
    return np.take_along_axis(log_softmax(logits), index, axis=-1)[..., 0]
