"""The share of a mixture that one known part has, from one score per image.

The pool is share * labelled + (1 - share) * foreign. For any score and threshold t the part of the
pool above t is then at least share times the part of the labelled images above t, so the least
ratio of the two bounds the share from above; it reaches the share where no foreign image scores.
That ratio is the slope of a chord of the ROC curve at its end. The area below the same curve gives
a second bound, 2 (1 - AUC), which is exact when every foreign image scores below every other.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mixmood.core.arrays import Array

LEVELS = np.linspace(0.5, 1.0, 16)
"""Parts of the labelled images above the threshold; fewer leave too few images to count.
On development tasks a start at 0.25 raises the error for far sources from 0.03 to 0.05 and lowers
that for near ones from 0.101 to 0.095."""
CAUTION = 1.5
"""Standard errors added to a ratio before the least is taken: a high threshold, with few labelled
images above it, must be that much lower to be believed. Chosen on development tasks."""
N_SIMULATED = 200


@dataclass(frozen=True)
class MixtureShare:
    """An estimate of the share and its standard error."""

    share: float
    error: float
    area_share: float
    """By the area below the ROC curve, at most 1: an upper bound, exact for far foreign images."""


def area(labelled: Array, pool: Array, importance: Array | None = None) -> float:
    """Chance that a labelled image scores above a pool image, ties counted half (the AUC)."""
    weights = np.ones(len(labelled)) if importance is None else importance
    rises = np.sort(pool)
    below = np.searchsorted(rises, labelled, side="left")
    ties = np.searchsorted(rises, labelled, side="right") - below
    return float(weights @ (below + ties / 2) / (weights.sum() * len(pool)))


def least_slope(labelled: Array, pool: Array, importance: Array | None = None) -> float:
    """Least ratio of the parts of pool and labelled images above a threshold, made cautious.

    Thresholds are labelled scores at LEVELS; each ratio is raised by CAUTION standard errors.

    Args:
        labelled: Cross-fitted scores of the labelled images, shape (n,).
        pool: Cross-fitted scores of pool images, shape (m,).
        importance: How much each labelled image counts, shape (n,); the same if None.
    """
    weights = np.ones(len(labelled)) if importance is None else importance
    order = np.argsort(labelled, kind="stable")
    rises = labelled[order]
    # Entry i is the weight of the labelled images from place i on.
    above = np.cumsum(weights[order][::-1])[::-1] / weights.sum()
    places = np.searchsorted(-above, -LEVELS + 1e-9, side="right") - 1
    thresholds = rises[np.maximum(places, 0)]
    labelled_above = above[np.searchsorted(rises, thresholds, side="left")]
    pool_above = 1.0 - np.searchsorted(np.sort(pool), thresholds, side="left") / len(pool)
    errors = np.sqrt((1 - labelled_above).clip(0) / (labelled_above * effective_number(weights)))
    return float((pool_above / labelled_above * (1 + CAUTION * errors)).min())


@lru_cache(maxsize=256)
def null_slope(n_labelled: int, n_pool: int) -> float:
    """Expected `least_slope` when all of the pool is useful, a constant of the two numbers.

    Scores are then exchangeable, so that uniform numbers, always the same, stand for them.
    """
    rng = np.random.default_rng([n_labelled, n_pool])
    slopes = [least_slope(rng.random(n_labelled), rng.random(n_pool)) for _ in range(N_SIMULATED)]
    return float(np.mean(slopes))


def effective_number(importance: Array) -> float:
    """How many equally important images say as much: (sum of w)^2 / (sum of w^2)."""
    return float(importance.sum() ** 2 / (importance**2).sum())


def mixture_share(
    labelled: Array,
    pool: Array,
    rng: np.random.Generator,
    *,
    importance: Array | None = None,
    n_halves: int = 100,
) -> MixtureShare:
    """The share of a pool that is like the labelled images, from cross-fitted scores.

    The least slope, divided by what it is on average when all is useful. Its error comes from
    random halves of the images: the variance over halves is that of the whole, because leaving
    half of the images out doubles the variance and the overlap with the whole takes half of it.
    """
    n, m = len(labelled), len(pool)
    n_equal = n if importance is None else max(1, round(effective_number(importance)))
    share = least_slope(labelled, pool, importance) / null_slope(n_equal, m)
    null = null_slope((n_equal + 1) // 2, (m + 1) // 2)
    halves = np.empty(n_halves)
    for i in range(n_halves):
        own, others = rng.permutation(n)[: (n + 1) // 2], rng.permutation(m)[: (m + 1) // 2]
        part = None if importance is None else importance[own]
        halves[i] = least_slope(labelled[own], pool[others], part) / null
    by_area = 2 * (1 - area(labelled, pool, importance))
    return MixtureShare(float(min(1.0, share)), float(halves.std()), float(min(1.0, by_area)))
