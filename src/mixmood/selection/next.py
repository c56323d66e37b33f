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

from mixmood.core.arrays import Array, Codes, Rows
from mixmood.evidence.share import useful_chances
from mixmood.heads.problem import head_problem
from mixmood.numerics.neighbours import unit_rows
from mixmood.scores.fitting import labelled_share, signed_roots
from mixmood.selection.decide import ScannedPool
from mixmood.selection.scorer import FittedFilter

MOST_CANDIDATES = 2000
"""Images that are compared with each other; of more, a random part by their value."""
LEAST_USEFUL, LEAST_TYPICAL = 0.1, 0.05
"""An image is proposed if its chance to be useful is as large, or if it scores at least as high as
this share of the labelled images."""
FEWEST_FOREIGN = 2
POWER = 3
"""Of the cosine: similarity falls quickly, so that an image stands for near ones only."""


@dataclass(frozen=True)
class Chosen:
    """The chosen candidates in order, and how many candidates each stands for."""

    rows: Rows
    n_like: Rows


def useful_of(fitted: FittedFilter, scores: Array) -> tuple[Array, NDArray[np.bool_]]:
    """The chance of each image to be useful, and whether it may be proposed, shape (n,).

    An image may also be proposed if it scores as high as some of the labelled images: if these are
    no random sample of their classes, the useful share is too low.
    """
    fit = fitted.score.fit
    useful = np.interp(scores, *useful_chances(fitted.useful.share, fit))
    is_typical = labelled_share(fit.labelled, scores) >= LEAST_TYPICAL
    return np.maximum(useful, 1e-3), (useful >= LEAST_USEFUL) | is_typical


def not_foreign(labelled: Array, codes: Codes, foreign: Array, features: Array) -> Array:
    """The chance of each image not to be like images that belong to no class, squared, shape (n,).

    By a classifier for which these images are one more class; 1 if there are fewer than two.

    Args:
        labelled: Features of the labelled images, shape (m, d).
        codes: Their classes, 0 to k - 1, shape (m,).
        foreign: Features of images that a person called none of the classes, shape (f, d).
        features: Of the images that are asked about, shape (n, d).
    """
    if len(foreign) < FEWEST_FOREIGN or not len(features):
        return np.ones(len(features))
    n_classes = int(codes.max()) + 1
    every = np.concatenate([codes, np.full(len(foreign), n_classes)])
    problem = head_problem(np.concatenate([labelled, foreign]), every, n_classes + 1)
    chances = problem.labelled.supervised[0].predict_proba(features)
    return np.asarray(np.maximum(1 - chances[:, -1], 1e-3) ** 2)


def candidates_of(
    pool: ScannedPool,
    useful: Array,
    may_be: NDArray[np.bool_],
    confidence: Array,
    rng: np.random.Generator,
) -> Rows:
    """The images of a pool that may be proposed, in its order; at most MOST_CANDIDATES.

    Of many, a random part is taken; images that are useful and uncertain are more probable.

    Args:
        pool: The scanned pool; copies and unreadable images are no candidates.
        useful: The chance of each image to be useful, shape (n,).
        may_be: Which images may be proposed, shape (n,).
        confidence: The probability of its predicted class, shape (n,).
        rng: Decides which part is taken.
    """
    rows = np.flatnonzero(pool.is_candidate & may_be)
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
) -> Chosen:
    """The candidates to label, the most valuable first; fewer if there are not as many.

    Args:
        features: Of the candidates, shape (n, d).
        labelled: Features of the labelled images, shape (m, d).
        useful: The chance of each candidate to be useful, shape (n,).
        probabilities: Of the classes, shape (n, k).
        n_chosen: How many are wanted.
        groups: The group of each candidate: one image of each group is chosen before a second one.
    """
    if not len(features):
        return Chosen(np.empty(0, np.int64), np.empty(0, np.int64))
    roots = signed_roots(features)
    centre = roots.mean(axis=0)
    rows, own = unit_rows(roots, centre), unit_rows(signed_roots(labelled), centre)
    like = np.clip(rows @ rows.T, 0.0, 1.0) ** POWER
    covered = np.clip((rows @ own.T).max(axis=1), 0.0, 1.0) ** POWER
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
