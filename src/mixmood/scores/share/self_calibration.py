"""How well near foreign classes can be found: each labelled class in turn is treated as foreign."""

import numpy as np
from scipy.special import ndtri

from mixmood.core.arrays import Codes
from mixmood.scores.fitting.compared import ComparedRows, FitRows
from mixmood.scores.share.mixture import auc

FEWEST_CLASSES = 3
MOST_CLASSES = 10
"""With more classes, a random choice of this many is tried."""
POOL_ROWS = 500
"""The largest number of pool rows in a trial, to limit the time: each trial is a fit."""
TRUSTED_AUROC = 0.8
"""Below it, many near foreign images are counted as useful."""
NEAREST, FARTHEST = 0.8, 1.3
"""Limits of the separation that is taken from the trials. The upper limit is there because foreign
classes may be nearer to the labelled classes than these are to each other. On development tasks,
upper limits from 1.2 to 1.6 change the bias by at most 0.02; 2.0 raises it to 0.04 and lowers the
coverage to 86 %."""


def near_auroc(
    rows: ComparedRows, labels: Codes, rng: np.random.Generator, fit_rows: FitRows
) -> float | None:
    """The mean AUROC with which a labelled class is found when it is treated as foreign.

    The class is moved to the pool, where it is then a foreign class, and the score is fitted with
    the remaining classes. AUROC: the probability that an image of these scores above one of the
    moved class. None with fewer than three classes of two images or more.
    """
    classes, sizes = np.unique(labels, return_counts=True)
    usable = classes[sizes >= 2]
    if len(usable) < FEWEST_CLASSES:
        return None
    n_pool = len(rows.rows) - rows.n_labelled
    sample = rows.n_labelled + rng.permutation(n_pool)[:POOL_ROWS]
    aurocs = []
    for name in rng.permutation(usable)[:MOST_CLASSES]:
        is_foreign = labels == name
        pool = np.concatenate([np.flatnonzero(is_foreign), sample])
        trial = rows.part(np.flatnonzero(~is_foreign), pool)
        fit = fit_rows(trial, labels[~is_foreign], None)
        aurocs.append(auc(fit.labelled, fit.pool[: is_foreign.sum()]))
    return float(np.mean(aurocs))


def least_separation(near: float | None) -> float:
    """The smallest separation of foreign images to allow, in standard deviations of the score.

    It follows from the AUROC of the trials. There the class is rare in the pool, so that the score
    learns little about it; a common foreign class is found more easily. Without trials it is
    NEAREST.

    >>> least_separation(None), round(least_separation(0.75), 2), least_separation(0.99)
    (0.8, 0.95, 1.3)
    """
    if near is None:
        return NEAREST
    return float(np.clip(np.sqrt(2) * ndtri(near), NEAREST, FARTHEST))


def without_near_foreign(low: float, near: float) -> float:
    """The lower end of a share, if foreign images are as near as the classes are to each other.

    A part 1 - near of such images scores like useful ones, so that the estimated share is
    share + (1 - share) (1 - near). If the classes cannot be told apart at all (near 0.5), any
    number of foreign images could go unnoticed. On development tasks with near sources, the
    interval contained the true share in 88 % of 56 pools without this correction, and every miss
    was a lower end that was too high; with it in 96 %, and the mean width grew from 0.29 to 0.32.

    >>> round(without_near_foreign(0.55, 0.9), 6), without_near_foreign(0.9, 0.5)
    (0.5, 0.0)
    """
    trust = float(np.clip((near - 0.5) / (TRUSTED_AUROC - 0.5), 0.0, 1.0))
    return max(0.0, trust * low - (1 - near)) / max(near, 0.5)
