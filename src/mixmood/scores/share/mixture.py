"""The share of useful images in a pool, from one score for each image.

The distribution of the pool is share * labelled + (1 - share) * foreign. Let G(x) be the part of
the pool above the threshold that the part x of the labelled images exceeds. This model is fitted:

    G(x) = share * x + (1 - share) * Phi(b * Phi^-1(x) - shift)

The second term is the ROC curve of two normal distributions, after any monotone change of the
score (the binormal model of Dorfman and Alf, J. Math. Psychology, 1969). The least slope of G is
a bound that needs no model, but it counts near foreign images with high scores as useful: on
development tasks with near sources it was too high by 0.05 to 0.2 on average, this model by 0.003.
Where foreign and useful images differ little, a small share with a small shift fits as well as a
large share with a large one, so that the separation of the two has a lower limit.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from mixmood.core.arrays import Array

LEVELS = np.linspace(0.04, 0.96, 24)
"""The parts of the labelled images above the thresholds (x)."""
SPREADS = (0.7, 1.0, 1.4)
"""Values of b: the spread of the labelled scores divided by that of the foreign ones."""
SEPARATIONS = np.concatenate([np.linspace(0.4, 4.0, 37), [5.0, 6.0, 8.0]])
"""The distance of the two means, in standard deviations at equal spread: AUROC =
Phi(separation / sqrt 2)."""
FLOOR = 0.02
"""Added to the variance x (1 - x) of a level, so that the weights at the ends stay finite."""
TOLERANCE = 0.2
"""Fits whose squared error is larger by at most this, divided by the number of labelled images,
count as equally good. On development tasks 0 to 0.8 move the mean error from 0.040 to 0.039 for
near sources and from 0.025 to 0.021 for far ones, and the bias by 0.02."""


@dataclass(frozen=True)
class MixtureShare:
    """An estimate of the share and its standard error."""

    share: float
    error: float
    least: float
    """The estimate at the smallest separation of foreign and useful images in the model."""


def auc(labelled: Array, pool: Array) -> float:
    """The probability that a labelled image scores above a pool image, ties counted half."""
    ascending = np.sort(pool)
    below = np.searchsorted(ascending, labelled, side="left")
    ties = np.searchsorted(ascending, labelled, side="right") - below
    return float((below + ties / 2).mean() / len(pool))


def pool_above(labelled: Array, pool: Array, importance: Array | None = None) -> Array:
    """The part of the pool above the threshold of each of LEVELS, ties counted half."""
    if labelled.min() == labelled.max():
        # All labelled scores are equal: a tie counts as above in the part x of the cases.
        return np.asarray((pool > labelled[0]).mean() + (pool == labelled[0]).mean() * LEVELS)
    order = np.argsort(labelled, kind="stable")
    own = np.ones(len(labelled)) if importance is None else importance[order]
    above = (np.cumsum(own[::-1])[::-1] - own / 2) / own.sum()
    thresholds = np.interp(LEVELS, above[::-1], labelled[order][::-1])
    ascending = np.sort(pool)
    below = np.searchsorted(ascending, thresholds, side="left")
    ties = np.searchsorted(ascending, thresholds, side="right") - below
    return np.asarray(1 - (below + ties / 2) / len(pool))


def binormal_share(
    labelled: Array, pool: Array, least_separation: float, importance: Array | None = None
) -> float:
    """The share with the least squared error, over all allowed separations and spreads.

    Of fits that are nearly as good, the one with the largest share is taken.

    Args:
        labelled: Cross-fitted scores of the labelled images, shape (n,).
        pool: Cross-fitted scores of pool images, shape (m,).
        least_separation: The smallest allowed separation of foreign and useful images.
        importance: The weight of each labelled image, shape (n,); equal weights if None.
    """
    is_allowed = min(least_separation, SEPARATIONS[-1]) <= _SEPARATION_OF + 1e-9
    curves = _CURVES[is_allowed]
    misses = pool_above(labelled, pool, importance) - curves
    slopes = LEVELS - curves
    shares = np.clip((slopes * misses) @ _WEIGHTS / ((slopes**2) @ _WEIGHTS), 0.0, 1.0)
    errors = (misses - shares[:, None] * slopes) ** 2 @ _WEIGHTS
    is_as_good = errors <= errors.min() + TOLERANCE / len(labelled)
    return float(shares[is_as_good].max())


def mixture_share(
    labelled: Array,
    pool: Array,
    rng: np.random.Generator,
    *,
    least_separation: float,
    importance: Array | None = None,
    n_halves: int = 100,
) -> MixtureShare:
    """The share of a pool that is like the labelled images, from cross-fitted scores.

    Its standard error is the spread over random halves of the images. It needs no factor: a half
    has twice the variance of the whole, and drawing it without replacement halves the variance.
    """
    n, m = len(labelled), len(pool)
    halves = np.empty(n_halves)
    for i in range(n_halves):
        own, others = rng.permutation(n)[: (n + 1) // 2], rng.permutation(m)[: (m + 1) // 2]
        part = None if importance is None else importance[own]
        halves[i] = binormal_share(labelled[own], pool[others], least_separation, part)
    return MixtureShare(
        binormal_share(labelled, pool, least_separation, importance),
        float(halves.std()),
        binormal_share(labelled, pool, SEPARATIONS[0], importance),
    )


def _curves() -> tuple[Array, NDArray[np.float64]]:
    """A curve for each separation and spread, and the separation of each."""
    pairs = [(separation, b) for separation in SEPARATIONS for b in SPREADS]
    shifts = np.array([separation * np.sqrt((1 + b * b) / 2) for separation, b in pairs])
    spreads = np.array([b for _, b in pairs])
    curves = ndtr(spreads[:, None] * ndtri(LEVELS) - shifts[:, None])
    return curves, np.array([separation for separation, _ in pairs])


_CURVES, _SEPARATION_OF = _curves()
_WEIGHTS = 1 / (LEVELS * (1 - LEVELS) + FLOOR)
