"""How much an image resembles the labelled ones: below a threshold it is none of the classes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.heads.evaluation.rejection import keep_threshold
from mixmood.heads.fitting.directions import directions

N_NEAREST = 3
KEPT_SHARE = 0.95
MOST_REFERENCES = 2000
"""Labelled images that a model keeps; more would make its file larger, not its answer better."""


@dataclass(frozen=True)
class Typicality:
    """The mean cosine to the three nearest labelled images, and the least one that counts."""

    references: NDArray[np.float32]
    """Directions of labelled images, shape (m, d)."""
    n_nearest: int
    threshold: float | None
    """95 % of the labelled images, each compared with the others, reach it; None if unknown."""

    def __call__(self, features: Array) -> NDArray[np.float32]:
        """Of features, shape (n, d); a value for each row, at most 1."""
        rows = directions(np.asarray(features, np.float32))
        cosines = np.asarray(rows @ self.references.T, np.float32)
        return _mean_of_largest(cosines, self.n_nearest)


def fit_typicality(
    features: Array, rng: np.random.Generator, groups: NDArray[np.integer] | None = None
) -> Typicality:
    """References and threshold from labelled features, shape (n, d).

    The threshold holds for new images like the labelled ones: each of these is compared with
    the others (of other groups) only, and the k-th smallest value is taken with
    k = floor((n + 1) * 5 %), so that a further image of the same kind falls below it with a
    probability of at most 5 %. With fewer than 19 images there is no such k: nothing is refused.
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
        # It is 0 where there are too few images for a promise.
        threshold = keep_threshold(_mean_of_largest(cosines, n_nearest), KEPT_SHARE) or None
    return Typicality(np.asarray(rows, np.float32), n_nearest, threshold)


def _mean_of_largest(values: NDArray[np.float32], n_largest: int) -> NDArray[np.float32]:
    largest = np.partition(values, values.shape[1] - n_largest, axis=1)[:, -n_largest:]
    return np.asarray(largest.mean(axis=1), np.float32)
