"""How much an image resembles the labelled ones: below a threshold it is none of the classes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.evidence.accuracy import keep_threshold
from mixmood.heads.linear import directions

N_NEAREST = 3
KEPT_SHARE = 0.95
MOST_REFERENCES = 2000
"""Largest number of labelled images in a model file; more would not improve its answers."""


@dataclass(frozen=True)
class Typicality:
    """The mean cosine to the three nearest labelled images, and its threshold."""

    references: NDArray[np.float32]
    """Directions of labelled images, shape (m, d)."""
    n_nearest: int
    threshold: float | None
    """95 % of the labelled images, each compared with the others, reach it; None if unknown."""

    def __call__(self, features: Array) -> NDArray[np.float32]:
        """The typicality of each row of features (n, d), at most 1; shape (n,)."""
        rows = directions(np.asarray(features, np.float32))
        cosines = np.asarray(rows @ self.references.T, np.float32)
        return _mean_of_largest(cosines, self.n_nearest)


def fit_typicality(
    features: Array, rng: np.random.Generator, groups: NDArray[np.integer] | None = None
) -> Typicality:
    """References and threshold from labelled features, shape (n, d).

    Each labelled image is compared with the other ones (of other groups). The threshold is the
    k-th smallest value with k = floor((n + 1) * 5 %). A new image like the labelled ones is then
    below the threshold with a probability of at most 5 %. With fewer than 19 images there is no
    such k, and no threshold.
    """
    rows = directions(np.asarray(features, np.float32))
    if len(rows) > MOST_REFERENCES:
        keep = np.sort(rng.choice(len(rows), MOST_REFERENCES, replace=False))
        rows, groups = rows[keep], None if groups is None else groups[keep]
    own = np.arange(len(rows)) if groups is None else groups
    cosines = np.asarray(rows @ rows.T, np.float32)
    cosines[own[:, None] == own[None, :]] = np.float32(-np.inf)
    n_others = int(np.isfinite(cosines).sum(axis=1).min())
    n_nearest = min(N_NEAREST, max(1, n_others))
    threshold = None
    if n_others:
        # `keep_threshold` returns 0 if there are too few images for a guarantee.
        threshold = keep_threshold(_mean_of_largest(cosines, n_nearest), KEPT_SHARE) or None
    return Typicality(np.asarray(rows, np.float32), n_nearest, threshold)


def _mean_of_largest(values: NDArray[np.float32], n_largest: int) -> NDArray[np.float32]:
    largest = np.partition(values, values.shape[1] - n_largest, axis=1)[:, -n_largest:]
    return np.asarray(largest.mean(axis=1), np.float32)
