"""The share of a mixture that one known part has, from one score per image.

The pool is share * labelled + (1 - share) * foreign. For any score and threshold t the part of the
pool above t is then at least share times the part of the labelled images above t, so the least
ratio of the two bounds the share from above; it reaches the share where no foreign image scores.
That ratio is the slope of a chord of the ROC curve at its end. The area below the same curve gives
a second bound, 2 (1 - AUC), which is exact when every foreign image scores below every other.
"""

from dataclasses import dataclass

import numpy as np

from mixmood.core.arrays import Array

LEVELS = np.linspace(0.25, 1.0, 16)
"""Parts of the labelled images above the threshold; fewer would leave too few images to count."""
N_SIMULATED = 400


def chord_slope(labelled: Array, pool: Array, importance: Array | None = None) -> float:
    """Least ratio of the parts of pool and labelled images above a threshold, 0 to 1.

    Thresholds are labelled scores at LEVELS.

    Args:
        labelled: Cross-fitted scores of the labelled images, shape (n,).
        pool: Cross-fitted scores of pool images, shape (m,).
        importance: How much each labelled image counts, shape (n,); the same if None.
    """
    order = np.argsort(-labelled, kind="stable")
    weights = np.ones(len(labelled)) if importance is None else importance
    above = np.cumsum(weights[order]) / weights.sum()
    # The last of equal scores counts all of them.
    positions = np.searchsorted(above, LEVELS - 1e-9)
    thresholds = labelled[order][np.minimum(positions, len(labelled) - 1)]
    rises = np.sort(pool)
    pool_above = 1.0 - np.searchsorted(rises, thresholds, side="left") / len(pool)
    labelled_above = np.array([weights[labelled >= t].sum() for t in thresholds]) / weights.sum()
    return float(min(1.0, (pool_above / labelled_above).min()))


def area(labelled: Array, pool: Array, importance: Array | None = None) -> float:
    """Chance that a labelled image scores above a pool image, ties counted half (the AUC)."""
    weights = np.ones(len(labelled)) if importance is None else importance
    rises = np.sort(pool)
    below = np.searchsorted(rises, labelled, side="left")
    ties = np.searchsorted(rises, labelled, side="right") - below
    return float(weights @ (below + ties / 2) / (weights.sum() * len(pool)))


def null_slope(
    n_labelled: int, n_pool: int, rng: np.random.Generator, importance: Array | None = None
) -> float:
    """Expected `chord_slope` when all of the pool is useful: below 1, as a minimum of noisy ratios.

    Scores are then exchangeable, so that uniform numbers stand for them.
    """
    slopes = [
        chord_slope(rng.random(n_labelled), rng.random(n_pool), importance)
        for _ in range(N_SIMULATED)
    ]
    return float(np.mean(slopes))


@dataclass(frozen=True)
class MixtureShare:
    """An estimate of the share and its standard error."""

    share: float
    error: float
    slope_share: float
    """By the slope of the ROC curve's end, at most 1."""
    area_share: float
    """By the area below the curve, at most 1."""


def mixture_share(
    labelled: Array,
    pool: Array,
    rng: np.random.Generator,
    *,
    importance: Array | None = None,
    n_halves: int = 100,
) -> MixtureShare:
    """The share of a pool that is like the labelled images, from cross-fitted scores.

    The slope is right for near and far foreign images but noisy; the area is right for far ones and
    precise. Their mean is taken, in which the area counts the less the further it lies above the
    slope, in standard errors of the difference. Errors come from random halves of the images: the
    variance over halves is that of the whole, because leaving half of the images out doubles the
    variance and the overlap with the whole takes one half of that away.
    """
    n, m = len(labelled), len(pool)
    slope = chord_slope(labelled, pool, importance) / null_slope(n, m, rng, importance)
    by_area = 2 * (1 - area(labelled, pool, importance))
    null = null_slope((n + 1) // 2, (m + 1) // 2, rng)
    halves = np.empty((n_halves, 2))
    for half in halves:
        own, others = rng.permutation(n)[: (n + 1) // 2], rng.permutation(m)[: (m + 1) // 2]
        part = None if importance is None else importance[own]
        half[0] = chord_slope(labelled[own], pool[others], part) / null
        half[1] = 2 * (1 - area(labelled[own], pool[others], part))
    gap = max(0.0, min(by_area, 1.0) - min(slope, 1.0))
    spread = float((halves[:, 1] - halves[:, 0]).std())
    trust = 1.0 / (1.0 + (gap / spread) ** 2) if spread > 0 else float(gap == 0)
    mixed = halves @ np.array([1 - trust / 2, trust / 2])
    share = (1 - trust / 2) * min(slope, 1.0) + trust / 2 * min(by_area, 1.0)
    return MixtureShare(
        float(share), float(mixed.std()), float(min(slope, 1.0)), float(min(by_area, 1.0))
    )
