"""Wilcoxon's signed-rank test for the draws of a ranking."""

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array

MOST_EXACT = 50
"""Up to so many pairs the p-value is exact, as in SciPy."""


def wilcoxon_p(inter: Array, intra: Array) -> float:
    """Two-sided paired signed-rank p-value; 1 when no pair differs.

    >>> wilcoxon_p(np.array([3.0, 5.0, 7.0]), np.array([1.0, 1.0, 1.0]))
    0.25
    """
    differences = inter - intra
    if not differences.any():
        return 1.0
    sizes = np.abs(differences)
    has_ties = len(np.unique(sizes)) < len(sizes) or sizes.min() == 0
    if not has_ties and len(differences) <= MOST_EXACT:
        return _exact_p(differences)
    # Imported only here: it takes as long as all statistics of a small ranking.
    from scipy.stats import wilcoxon

    return float(wilcoxon(inter, intra).pvalue)


def _exact_p(differences: Array) -> float:
    """The p-value where all absolute values differ: every choice of signs is equally likely."""
    is_positive = differences[np.argsort(np.abs(differences))] > 0
    counts = _rank_sums(len(differences))
    w = int(np.flatnonzero(is_positive).sum()) + int(is_positive.sum())
    smaller_tail = min(int(counts[: w + 1].sum()), int(counts[w:].sum()))
    return min(2 * smaller_tail / 2.0 ** len(differences), 1.0)


def _rank_sums(n: int) -> NDArray[np.int64]:
    """How many subsets of the ranks 1..n have each sum, 0 to n (n + 1) / 2."""
    counts = np.zeros(n * (n + 1) // 2 + 1, np.int64)
    counts[0] = 1
    for rank in range(1, n + 1):
        counts[rank:] += counts[:-rank].copy()
    return counts
