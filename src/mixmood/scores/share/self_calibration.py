"""How well near foreign classes can be found: each labelled class in turn plays the foreign one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mixmood.core.arrays import Array, Codes
from mixmood.scores.registry import fit_score
from mixmood.scores.share.mixture import area

FEWEST_CLASSES = 3
MOST_CLASSES = 10
"""With more classes, a random choice of this many is tried."""
MOST_LEAK = 0.95
POOL_ROWS = 500
"""Of the pool, as many rows take part; each trial is a fit."""


@dataclass(frozen=True)
class NearTest:
    """What the trials with the user's own classes say about near foreign ones."""

    auroc: float
    """Chance that an image of the remaining classes scores above one of the class left out."""
    leak: float
    """Of the class left out, the part that scores above the median of the remaining classes,
    divided by one half: what near foreign images would add to the share. The upper limit of the
    part is taken, two standard errors up, because few images are counted."""


def near_tests(
    labelled: Array,
    labels: Codes,
    pool: Array,
    rng: np.random.Generator,
    families: Sequence[str],
) -> dict[str, NearTest]:
    """The trial of each family; empty with fewer than three classes of two images or more.

    The class left out is moved to the pool, in which it is then a foreign class at the share that
    it really has there.
    """
    classes, sizes = np.unique(labels, return_counts=True)
    usable = classes[sizes >= 2]
    if len(usable) < FEWEST_CLASSES:
        return {}
    tried = rng.permutation(usable)[:MOST_CLASSES]
    sample = pool[rng.permutation(len(pool))[:POOL_ROWS]]
    return {name: _near_test(labelled, labels, sample, tried, name) for name in families}


def _near_test(labelled: Array, labels: Codes, pool: Array, tried: Codes, family: str) -> NearTest:
    aurocs, n_above, n_foreign = [], 0, 0
    for name in tried:
        is_foreign = labels == name
        with_foreign = np.concatenate([labelled[is_foreign], pool])
        fit = fit_score(labelled[~is_foreign], with_foreign, labels[~is_foreign], family).fit
        foreign = fit.pool[: is_foreign.sum()]
        aurocs.append(area(fit.labelled, foreign))
        n_above += int((foreign > np.median(fit.labelled)).sum())
        n_foreign += len(foreign)
    most_above = (n_above + 2 * np.sqrt(n_above + 1)) / n_foreign
    return NearTest(float(np.mean(aurocs)), float(min(MOST_LEAK, 2 * most_above)))
