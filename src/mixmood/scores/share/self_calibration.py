"""How well near foreign classes can be found: each labelled class in turn plays the foreign one."""

import numpy as np
from scipy.special import ndtri

from mixmood.core.arrays import Array, Codes
from mixmood.scores.registry import fit_score
from mixmood.scores.share.mixture import area

FEWEST_CLASSES = 3
MOST_CLASSES = 10
"""With more classes, a random choice of this many is tried."""
POOL_ROWS = 500
"""Of the pool, as many rows take part; each trial is a fit."""
NEAREST, FARTHEST = 0.8, 1.3
"""Limits of the separation that is taken from the trials. Foreign classes may be nearer to the
labelled ones than these are to each other. On development tasks 1.2 to 1.6 as the upper limit make
no difference to the bias beyond 0.02; 2.0 raises it to 0.04 and lowers the coverage to 86 %."""


def near_auroc(
    labelled: Array, labels: Codes, pool: Array, rng: np.random.Generator, family: str
) -> float | None:
    """Chance that an image of the remaining classes scores above one of the class left out.

    The class left out is moved to the pool, in which it is then a foreign class at the share that
    it really has there. The mean over the classes; None with fewer than three classes of two
    images or more.
    """
    classes, sizes = np.unique(labels, return_counts=True)
    usable = classes[sizes >= 2]
    if len(usable) < FEWEST_CLASSES:
        return None
    sample = pool[rng.permutation(len(pool))[:POOL_ROWS]]
    aurocs = []
    for name in rng.permutation(usable)[:MOST_CLASSES]:
        is_foreign = labels == name
        with_foreign = np.concatenate([labelled[is_foreign], sample])
        fit = fit_score(labelled[~is_foreign], with_foreign, labels[~is_foreign], family).fit
        aurocs.append(area(fit.labelled, fit.pool[: is_foreign.sum()]))
    return float(np.mean(aurocs))


def least_separation(near: float | None) -> float:
    """How near foreign images may be, in standard deviations of the score, by the trials.

    A class left out is rare in the pool, so that the score learns little about it: a foreign class
    that is common is found more easily. Without trials the nearest is assumed.

    >>> least_separation(None), round(least_separation(0.75), 2), least_separation(0.99)
    (0.8, 0.95, 1.3)
    """
    if near is None:
        return NEAREST
    return float(np.clip(np.sqrt(2) * ndtri(near), NEAREST, FARTHEST))
