"""Which images are worth a label: useful, uncertain, unlike each other and unlike labelled ones.

Let s(i, j) be the similarity of two images and u_i the value of knowing the class of image i: the
chance that it is useful, times the uncertainty of the classifier. A set of images S that is
labelled beside the labelled ones L is worth

    sum_i u_i max_{j in S or L} s(i, j)

(facility location). The image that adds most, times its own chance to be useful, is added to S
again and again. So an image is chosen if it stands for many images that are uncertain and that no
labelled or chosen image is like.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from mixmood.core.arrays import Array, Rows
from mixmood.evidence.share import useful_chances
from mixmood.numerics.neighbours import unit_rows
from mixmood.scores.fitting import labelled_share, signed_roots
from mixmood.selection.decide import ScannedPool, keep_best
from mixmood.selection.scorer import FittedFilter

MOST_CANDIDATES = 2000
"""Images that are compared with each other; of more, a random part by their value."""
SPARE = 3
"""At least so many candidates for each image that is wanted, if their chances allow it."""
LEAST_USEFUL, LEAST_TYPICAL = 0.1, 0.05
"""An image is proposed if its chance to be useful is as large, or if it scores at least as high as
this share of the labelled images."""
POWER = 3
"""Of the cosine: similarity falls quickly, so that an image stands for near ones only."""
SHARPNESS = 12.0
"""How fast the chance to be useful falls with the difference of two cosines."""


@dataclass(frozen=True)
class Chosen:
    """The chosen candidates in order, and how many candidates each stands for."""

    rows: Rows
    n_like: Rows


def useful_of(fitted: FittedFilter, scores: Array) -> tuple[Array, NDArray[np.bool_]]:
    """The chance of each image to be useful, and whether it may be proposed, shape (n,).

    Images that were chosen and labelled are no random sample of their classes: the useful share of
    the pool that they are compared with falls, down to 0. So an image may also be proposed if it
    scores as high as some of the labelled images.
    """
    fit = fitted.score.fit
    useful = np.interp(scores, *useful_chances(fitted.useful.share, fit))
    is_typical = labelled_share(fit.labelled, scores) >= LEAST_TYPICAL
    return np.maximum(useful, 1e-3), (useful >= LEAST_USEFUL) | is_typical


def candidates_of(
    pool: ScannedPool,
    useful: Array,
    may_be: NDArray[np.bool_],
    confidence: Array,
    threshold: float,
    n_wanted: int,
    rng: np.random.Generator,
) -> Rows:
    """The images of a pool that may be proposed, in its order; at most MOST_CANDIDATES.

    They score as high as the useful share of the pool; if these are few, more are added. Of many,
    a random part is taken, uncertain images with a larger probability.

    Args:
        pool: The scanned pool; copies and unreadable images are no candidates.
        useful: The chance of each image to be useful, shape (n,).
        may_be: Which images may be proposed, shape (n,).
        confidence: The probability of its predicted class, shape (n,).
        threshold: The score that the useful share reaches.
        n_wanted: How many images will be proposed.
        rng: Decides which part is taken.
    """
    is_possible = pool.is_candidate & may_be
    n_like = max(int((is_possible & (pool.scores >= threshold)).sum()), SPARE * n_wanted)
    rows = np.flatnonzero(keep_best(pool.scores, n_like, is_possible))
    if len(rows) <= MOST_CANDIDATES:
        return rows
    value = useful[rows] * (1 - confidence[rows]) + 1e-9
    # The largest of these keys are a random sample with these weights (Efraimidis, 2006).
    keys = np.log(rng.random(len(rows))) / value
    return np.sort(rows[np.argsort(-keys, kind="stable")[:MOST_CANDIDATES]])


def uncertainty(probabilities: Array) -> NDArray[np.float64]:
    """1 - (the largest probability - the second largest) of each row, shape (n,)."""
    best = np.sort(probabilities, axis=1)[:, -2:]
    return np.asarray(1 - (best[:, -1] - best[:, 0]))


def chosen_images(
    features: Array,
    labelled: Array,
    useful: Array,
    probabilities: Array,
    n_chosen: int,
    groups: NDArray[np.integer] | None = None,
    foreign: Array | None = None,
) -> Chosen:
    """The candidates to label, the most valuable first; fewer if there are not as many.

    Args:
        features: Of the candidates, shape (n, d).
        labelled: Features of the labelled images, shape (m, d).
        useful: The chance of each candidate to be useful, shape (n,).
        probabilities: Of the classes, shape (n, k).
        n_chosen: How many are wanted.
        groups: The group of each candidate: one image of each group is chosen before a second one.
        foreign: Features of images that belong to none of the classes, shape (f, d).
    """
    if not len(features):
        return Chosen(np.empty(0, np.int64), np.empty(0, np.int64))
    roots = signed_roots(features)
    centre = roots.mean(axis=0)
    rows, own = unit_rows(roots, centre), unit_rows(signed_roots(labelled), centre)
    like = np.clip(rows @ rows.T, 0.0, 1.0) ** POWER
    nearest_own = (rows @ own.T).max(axis=1)
    covered = np.clip(nearest_own, 0.0, 1.0) ** POWER
    if foreign is not None and len(foreign):
        # An image that is nearer to a foreign one than to a labelled one is probably foreign too.
        nearest_foreign = (rows @ unit_rows(signed_roots(foreign), centre).T).max(axis=1)
        useful = useful * expit(SHARPNESS * (nearest_own - nearest_foreign))
    value = useful * uncertainty(probabilities)
    is_open = np.ones(len(rows), bool)
    n_taken = np.zeros(len(rows) if groups is None else int(groups.max()) + 1, np.int64)
    chosen: list[int] = []
    while len(chosen) < min(n_chosen, len(rows)):
        gain = useful * (value @ np.maximum(like - covered[:, None], 0.0))
        is_allowed = is_open
        if groups is not None:
            fewest = n_taken[groups[is_open]].min()
            is_allowed = is_open & (n_taken[groups] == fewest)
        best = int(np.where(is_allowed, gain, -1.0).argmax())
        chosen.append(best)
        is_open[best] = False
        covered = np.maximum(covered, like[:, best])
        if groups is not None:
            n_taken[groups[best]] += 1
    nearest = np.argmax(rows @ rows[chosen].T, axis=1)
    return Chosen(np.array(chosen, np.int64), np.bincount(nearest, minlength=len(chosen)))
