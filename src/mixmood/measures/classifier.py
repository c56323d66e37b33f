"""Classifier two-sample test: can a linear classifier tell which sample a row comes from?"""

import numpy as np

from mixmood.core.arrays import Array, Mask
from mixmood.measures.pairs import Table, centred, check_two_rows, inner_products, stacked

PENALTY = 1.0
"""The ridge penalty as a multiple of the mean squared distance of a row from the mean.

Chosen on classes 0 to 4 of MNIST, CIFAR-10 and FashionMNIST, with SVHN: smaller penalties find a
foreign share of 25 or 50 % less clearly, larger ones a wholly foreign pool."""
TIE = 1e-9  # scores are equal if their difference is below this part of the terms of its sum


def classifier_distance(x: Array, y: Array) -> float:
    """2 AUC - 1 of a ridge classifier of "from x" against "from y", cross-fitted pair by pair.

    mean_{i, j} sign(f_ij(x_i) - f_ij(y_j)), where f_ij is the ridge regression with intercept of
    +1 for x and -1 for y, fitted to all rows but x_i and y_j. Its mean over samples of one
    distribution is 0, so that it may be negative; 1 means that the samples can be separated without
    error. If a share s of y can be separated from x without error and the rest is like x, it is
    about s. It is symmetric. A row that is in both samples lowers it, since f is fitted to its copy
    of the other sample.

    Source: Lopez-Paz and Oquab, "Revisiting classifier two-sample tests", ICLR 2017; AUC by
    leaving pairs out: Airola et al., Comput. Stat. Data Anal., 2011.

    >>> classifier_distance(np.array([[0.0], [1.0], [2.0]]), np.array([[7.0], [8.0]]))
    1.0
    """
    return float(classifier_between_subsets(*stacked(x, y))[0])


def classifier_between_subsets(rows: Array, first: Mask, second: Mask) -> Table:
    """`classifier_distance` between k pairs of subsets of the same rows, shape (k,)."""
    check_two_rows(first, second, "The classifier", "one to fit, one to test")
    products = inner_products(centred(rows))
    found = np.empty(len(first))
    used = first | second
    is_new = np.any(used[1:] != used[:-1], axis=1)
    for k in range(len(first)):
        # The partitions of a permutation test use the same rows, so that they share one inverse.
        if k == 0 or is_new[k - 1]:
            inverse = _inverse(products[used[k]][:, used[k]])
        found[k] = _gini(inverse, first[k, used[k]])
    return found


def _inverse(products: Table) -> Table | None:
    """The inverse of the matrix of the ridge regression, (N, N); None if all rows are equal."""
    n = len(products)
    means = products.mean(axis=0)
    kernel = products - means - means[:, None] + means.mean()
    penalty = PENALTY * kernel.trace() / n
    if not penalty > 0:
        return None
    kernel.flat[:: n + 1] += penalty
    # Imported here: SciPy takes as long to import as a small ranking by another measure.
    from scipy.linalg.lapack import dpotrf, dpotri

    # A whole `rank --measure classifier` takes 5.3 s, and 5.9 s with a general inverse. Cholesky
    # fills the lower triangle only.
    lower, _ = dpotri(dpotrf(kernel, lower=1, clean=1)[0], lower=1)
    inverse = lower + lower.T
    inverse.flat[:: n + 1] /= 2
    # The centred kernel maps the constant vector to 0; the intercept removes this direction.
    return np.asarray(inverse - 1 / (n * penalty))


def _gini(inverse: Table | None, is_first: Mask) -> float:
    """The mean sign of f_ij(x_i) - f_ij(y_j) over all pairs."""
    # With S = {i, j}, P the matrix of `_inverse` and t the targets, the residuals of the regression
    # without S are (P_SS)^-1 (P t)_S: here for all pairs at once, times det P_SS > 0.
    if inverse is None:
        return 0.0
    solution = inverse @ np.where(is_first, 1.0, -1.0)
    diagonal = np.diagonal(inverse)
    a, b = diagonal[is_first, None], diagonal[~is_first]
    s, t = solution[is_first, None], solution[~is_first]
    c = inverse[is_first][:, ~is_first]
    size = 2 * a * b
    difference = size - 2 * c * c - (b * s - a * t) - c * (s - t)
    return float(np.sign(np.where(np.abs(difference) <= TIE * size, 0.0, difference)).mean())
