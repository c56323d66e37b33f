"""Jensen-Shannon distance of feature histograms."""

import numpy as np

from mixmood.core.arrays import Array
from mixmood.measures.histogram import N_BINS, Bins, Overflow
from mixmood.measures.pairs import check_pair


def js_distance(x: Array, y: Array, bins: int = N_BINS, overflow: Overflow = "count") -> float:
    """Sum over features of the Jensen-Shannon distance between the histograms of x and y.

    sum_r sqrt((KL(p_r | m_r) + KL(q_r | m_r)) / 2), m_r = (p_r + q_r) / 2, natural logarithms,
    with p_r and q_r the shares of x and y in equal bins over x's range. It is 0 when the
    histograms are equal and d * sqrt(ln 2) when they share no bin; it is not symmetric, because
    x alone sets the bins, and it does not change when a feature is scaled or shifted.

    Arguments and source are those of `cosine_distance`.

    >>> x, y = np.array([[0.0], [1.0]]), np.array([[7.0], [8.0]])
    >>> bool(np.isclose(js_distance(x, y), np.sqrt(np.log(2))))
    True
    """
    check_pair(x, y)
    edges = Bins.over(x, bins)
    return float(js_between(edges.shares(x, overflow), edges.shares(y, overflow)))


def js_between(p: Array, q: Array) -> Array:
    """Sum over features of the distance between shares of shape (..., d, bins), shape (...).

    A feature of zeros (an empty histogram) has the largest distance from any other: sqrt(ln 2).
    """
    # Imported here: SciPy takes as long to import as everything else together.
    from scipy.special import xlogy

    # KL(p|m) + KL(q|m) = sum p ln p + q ln q - (p + q) ln((p + q) / 2): three logarithms, not four.
    total = p + q
    terms = xlogy(p, p) + xlogy(q, q) - xlogy(total, total / 2)
    divergence = np.maximum(terms.sum(axis=-1), 0.0) / 2
    is_empty = (p.sum(axis=-1) == 0) | (q.sum(axis=-1) == 0)
    return np.asarray(np.sqrt(np.where(is_empty, np.log(2), divergence)).sum(axis=-1))
