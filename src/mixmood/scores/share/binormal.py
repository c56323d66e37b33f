"""The share of a mixture whose foreign part is near: a model of the whole ROC curve.

The least slope (`scores.share.mixture`) counts foreign images among the best scores as useful. Here
the part G(x) of the pool that scores above the best part x of the labelled images is a mixture:

    G(x) = share * x + (1 - share) * Phi(b * Phi^-1(x) - shift)

The second term is the ROC curve of two normal distributions, after any monotone change of the
score: ranks are all that is used. Where foreign and useful images differ little, a small share and
a large shift fit as well as a large share and a small one, so that the separation has a lower limit.

Source: the binormal ROC model of Dorfman and Alf, J. Math. Psychology, 1969.
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
"""Of the two means, in standard deviations, at equal spread: AUROC = Phi(separation / sqrt 2)."""
FLOOR = 0.02
"""Added to the variance x (1 - x) of a level: scores at the ends are not infinitely certain."""


@dataclass(frozen=True)
class BinormalShare:
    """The share that fits best, and how far the foreign part is from the labelled images."""

    share: float
    separation: float


def pool_above(labelled: Array, pool: Array, importance: Array | None = None) -> Array:
    """The part of the pool above the threshold of each of LEVELS."""
    weights = np.ones(len(labelled)) if importance is None else importance
    order = np.argsort(labelled, kind="stable")
    own = weights[order]
    above = (np.cumsum(own[::-1])[::-1] - own / 2) / own.sum()
    thresholds = np.interp(LEVELS, above[::-1], labelled[order][::-1])
    below = np.searchsorted(np.sort(pool), thresholds, side="left")
    ties = np.searchsorted(np.sort(pool), thresholds, side="right") - below
    return np.asarray(1 - (below + ties / 2) / len(pool))


def binormal_share(
    labelled: Array, pool: Array, least_separation: float, importance: Array | None = None
) -> BinormalShare:
    """The share of least squared error over all separations that are allowed.

    Args:
        labelled: Cross-fitted scores of the labelled images, shape (n,).
        pool: Cross-fitted scores of pool images, shape (m,).
        least_separation: Of foreign and useful images.
        importance: How much each labelled image counts, shape (n,); the same if None.
    """
    allowed = min(least_separation, SEPARATIONS[-1]) <= _SEPARATION
    misses = pool_above(labelled, pool, importance) - _CURVES[allowed]
    slopes = LEVELS - _CURVES[allowed]
    shares = np.clip((slopes * misses) @ _WEIGHTS / ((slopes**2) @ _WEIGHTS), 0.0, 1.0)
    errors = (misses - shares[:, None] * slopes) ** 2 @ _WEIGHTS
    best = int(errors.argmin())
    return BinormalShare(float(shares[best]), float(_SEPARATION[allowed][best]))


def _curves() -> tuple[Array, NDArray[np.float64]]:
    """A curve for each separation and spread, and the separation of each."""
    pairs = [(separation, b) for separation in SEPARATIONS for b in SPREADS]
    shifts = np.array([separation * np.sqrt((1 + b * b) / 2) for separation, b in pairs])
    spreads = np.array([b for _, b in pairs])
    curves = ndtr(spreads[:, None] * ndtri(LEVELS) - shifts[:, None])
    return curves, np.array([separation for separation, _ in pairs])


_CURVES, _SEPARATION = _curves()
_WEIGHTS = 1 / (LEVELS * (1 - LEVELS) + FLOOR)
