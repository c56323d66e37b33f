"""The share of a mixture that one known part has, from one score per image.

The pool is share * labelled + (1 - share) * foreign. The part G(x) of the pool that scores above
the best part x of the labelled images is then a mixture too, for which this model is fitted:

    G(x) = share * x + (1 - share) * Phi(b * Phi^-1(x) - shift)

The second term is the ROC curve of two normal distributions, after any monotone change of the
score (the binormal model of Dorfman and Alf, J. Math. Psychology, 1969). A bound that needs no
model, the least slope of the curve, counts near foreign images among the best scores as useful: on
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
"""Parts of the labelled images above the thresholds."""
SPREADS = (0.7, 1.0, 1.4)
"""Values of b: how much wider the labelled scores are than the foreign ones."""
SEPARATIONS = np.concatenate([np.linspace(0.4, 4.0, 37), [5.0, 6.0, 8.0]])
"""Of the two means, in standard deviations at equal spread: AUROC = Phi(separation / sqrt 2)."""
FLOOR = 0.02
"""Added to the variance x (1 - x) of a level: scores at the ends are not infinitely certain."""
TOLERANCE = 0.2
"""Of the squared error, for one labelled image. On development tasks 0 to 0.8 move the mean error
from 0.040 to 0.039 for near sources and from 0.025 to 0.021 for far ones, and the bias by 0.02."""


@dataclass(frozen=True)
class MixtureShare:
    """An estimate of the share and its standard error."""

    share: float
    error: float
    least: float
    """The estimate if foreign images are as near as the model can still distinguish."""


def area(labelled: Array, pool: Array) -> float:
    """Chance that a labelled image scores above a pool image, ties counted half (the AUC)."""
    rises = np.sort(pool)
    below = np.searchsorted(rises, labelled, side="left")
    ties = np.searchsorted(rises, labelled, side="right") - below
    return float((below + ties / 2).mean() / len(pool))


def pool_above(labelled: Array, pool: Array, importance: Array | None = None) -> Array:
    """The part of the pool above the threshold of each of LEVELS, ties counted half."""
    if labelled.min() == labelled.max():
        # One step: what ties with it is as far above each threshold as the labelled images are.
        return np.asarray((pool > labelled[0]).mean() + (pool == labelled[0]).mean() * LEVELS)
    order = np.argsort(labelled, kind="stable")
    own = np.ones(len(labelled)) if importance is None else importance[order]
    above = (np.cumsum(own[::-1])[::-1] - own / 2) / own.sum()
    thresholds = np.interp(LEVELS, above[::-1], labelled[order][::-1])
    rises = np.sort(pool)
    below = np.searchsorted(rises, thresholds, side="left")
    ties = np.searchsorted(rises, thresholds, side="right") - below
    return np.asarray(1 - (below + ties / 2) / len(pool))


def binormal_share(
    labelled: Array, pool: Array, least_separation: float, importance: Array | None = None
) -> float:
    """The share of least squared error, over all separations and spreads that are allowed.

    Of fits that are nearly as good, the one with the fewest foreign images counts.

    Args:
        labelled: Cross-fitted scores of the labelled images, shape (n,).
        pool: Cross-fitted scores of pool images, shape (m,).
        least_separation: Of foreign and useful images.
        importance: How much each labelled image counts, shape (n,); the same if None.
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

    Its error comes from random halves of the images: the variance over halves is that of the
    whole, because leaving half of the images out doubles the variance and the overlap with the
    whole takes half of it.
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
