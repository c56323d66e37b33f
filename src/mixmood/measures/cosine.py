"""Cosine distance of feature histograms: the paper's best measure, and the default."""

import numpy as np

from mixmood.core.arrays import Array
from mixmood.measures.histogram import N_BINS, Bins, Overflow
from mixmood.measures.pairs import check_pair


def cosine_distance(x: Array, y: Array, bins: int = N_BINS, overflow: Overflow = "count") -> float:
    """Sum over features of the cosine distance between the histograms of x and y.

    sum_r 1 - p_r . q_r / (|p_r| |q_r|), with p_r and q_r the shares of x and y in equal bins
    over x's range. It is 0 when the histograms are equal and d when they have no bin in common;
    it is not symmetric, because x alone sets the bins, and it does not change when a feature is
    scaled or shifted.

    With overflow "count", values of y outside that range are in two outer bins; "drop" leaves them
    out, as the paper's authors did, and an empty histogram then has the largest distance.

    Source: Calderon-Ramirez, Oala et al., "MixMOOD", 2020, section 3.2.

    >>> cosine_distance(np.array([[0.0], [1.0]]), np.array([[7.0], [8.0]]))
    1.0
    """
    check_pair(x, y)
    edges = Bins.over(x, bins)
    return float(cosine_between(edges.shares(x, overflow), edges.shares(y, overflow)))


def cosine_between(p: Array, q: Array) -> Array:
    """Sum over features of the distance between shares of shape (..., d, bins), shape (...).

    A feature of zeros (an empty histogram) has the largest distance from any other: 1.
    """
    pq, pp, qq = (np.einsum("...b,...b", *pair) for pair in ((p, q), (p, p), (q, q)))
    lengths = np.sqrt(np.multiply(pp, qq, dtype=np.float64))
    alike = pq / np.where(lengths > 0, lengths, 1.0)
    # Rounding can make the cosine of equal histograms slightly larger than 1.
    return np.asarray(np.maximum(1.0 - alike, 0.0).sum(axis=-1))
