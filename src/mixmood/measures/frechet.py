"""Frechet distance between two Gaussians that are fitted to the samples."""

import numpy as np

from mixmood.core.arrays import Array, Mask
from mixmood.measures.pairs import Table, centred, inner_products, stacked


def frechet_distance(x: Array, y: Array) -> float:
    """Squared Frechet distance between the Gaussians with the means and covariances of x and y.

    |mean x - mean y|^2 + tr(S_x + S_y - 2 (S_x S_y)^(1/2)), covariances with n - 1. It is 0 when
    means and covariances are equal, never negative, and unbounded as the samples move apart; it
    is symmetric. The covariance of a single row is 0.

    Source: Dowson and Landau, "The Frechet distance between multivariate normal distributions",
    J. Multivariate Anal., 1982; with features of images: Heusel et al., NeurIPS 2017.

    >>> x, y = np.array([[-1.0], [1.0]]), np.array([[5.0], [9.0]])
    >>> round(frechet_distance(x, y), 9)  # 7^2 + (sqrt 8 - sqrt 2)^2
    51.0
    """
    return float(frechet_between_subsets(*stacked(x, y))[0])


def frechet_between_subsets(rows: Array, first: Mask, second: Mask) -> Table:
    """`frechet_distance` between k pairs of subsets of the same rows, shape (k,)."""
    moved, pairs = centred(rows), zip(first, second, strict=True)
    if 2 * rows.shape[1] < len(rows):
        return np.array([_by_features(moved[in_x], moved[in_y]) for in_x, in_y in pairs])
    products = inner_products(moved)
    return np.array([_by_products(products, in_x, in_y) for in_x, in_y in pairs])


def _by_features(x: Table, y: Table) -> float:
    """The distance from (d, d) matrices, for more rows than features."""
    # X = Q R gives X'X = R'R, so that R has the covariance of the rows.
    root_x, root_y = (
        np.linalg.qr(centred(sample), "r") / np.sqrt(max(len(sample) - 1, 1)) for sample in (x, y)
    )
    spread = np.square(root_x).sum() + np.square(root_y).sum()
    between_means = np.square(x.mean(axis=0) - y.mean(axis=0)).sum()
    return _combined(between_means, spread, root_x @ root_y.T)


def _by_products(products: Table, in_x: Mask, in_y: Mask) -> float:
    """The distance from inner products of rows, for fewer rows than features."""
    xx, yy, xy = (products[a][:, b] for a, b in ((in_x, in_x), (in_y, in_y), (in_x, in_y)))
    n, m = max(len(xx) - 1, 1), max(len(yy) - 1, 1)
    spread = (xx.trace() - len(xx) * xx.mean()) / n + (yy.trace() - len(yy) * yy.mean()) / m
    cross = xy - xy.mean(axis=0) - xy.mean(axis=1, keepdims=True) + xy.mean()
    return _combined(xx.mean() + yy.mean() - 2 * xy.mean(), spread, cross / np.sqrt(n * m))


def _combined(between_means: float, spread: float, cross: Table) -> float:
    """The distance; `cross` is X Y', where the two covariances are X'X and Y'Y."""
    # The eigenvalues of S_x S_y = X'X Y'Y are the squared singular values of X Y'.
    common = np.linalg.svd(cross, compute_uv=False).sum()
    return float(max(between_means + spread - 2 * common, 0.0))
