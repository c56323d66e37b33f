"""The shares of the labelled classes in a pool."""

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Codes
from mixmood.core.errors import ShapeError
from mixmood.numerics.logistic import fit_logistic, one_hot
from mixmood.numerics.neighbours import unit_rows
from mixmood.scores.fitting.roots import roots

PENALTY = 0.1
"""Of the logistic regression on unit rows."""
N_STEPS = 50
PRIOR_IMAGES = 20
"""The prior counts as much as this many images, so that few images do not move the shares far."""


def class_probabilities(labelled: Array, labels: Codes, features: Array) -> NDArray[np.float64]:
    """Class probabilities by a logistic regression on the labelled images, shape (m, k).

    Args:
        labelled: Shape (n, d).
        labels: Shape (n,); the k classes are in the order of their sorted labels.
        features: Shape (m, d).
    """
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) == 1:
        return np.ones((len(features), 1))
    own = roots(labelled)
    centre = own.mean(axis=0)
    sizes = np.bincount(codes)
    # Each class weighs the same, so that the prior of the probabilities is uniform.
    weights = len(codes) / (len(classes) * sizes[codes])
    model = fit_logistic(
        unit_rows(own, centre),
        one_hot(codes, len(classes)),
        weights[None],
        np.array([PENALTY]),
    )
    logits = model.logits(unit_rows(roots(features), centre))[0]
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def class_shares(probabilities: Array, prior: Array) -> NDArray[np.float64]:
    """The shares of the classes among some images, from class probabilities with a uniform prior.

    Each step multiplies the probabilities by the present shares, divides by their sum over the
    classes and averages over the images (Saerens, Latinne and Decaestecker, 2002). The prior, such
    as the shares of the labelled classes, counts as 20 images; without images it is the result.

    >>> class_shares(np.array([[1.0, 0.0]] * 60 + [[0.0, 1.0]] * 20), np.array([0.5, 0.5])).tolist()
    [0.7, 0.3]
    """
    if probabilities.ndim != 2 or prior.shape != probabilities.shape[1:]:
        raise ShapeError(
            "Probabilities must be (n, k) and the prior (k,), with the same k; got "
            f"{probabilities.shape} and {prior.shape}."
        )
    shares = prior
    for _ in range(N_STEPS):
        weighted = probabilities * shares
        totals = np.maximum(weighted.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        counts = (weighted / totals).sum(axis=0) + PRIOR_IMAGES * prior
        shares = counts / counts.sum()
    return np.asarray(shares)
