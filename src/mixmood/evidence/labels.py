"""Which labels of a labelled set look wrong, and what would it gain without such labels?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Codes, Mask, Rows
from mixmood.core.errors import InputError
from mixmood.core.records.check import Measured, WithoutFlaggedRecord
from mixmood.core.seeds import rng_for
from mixmood.core.text import either_form, first_names
from mixmood.evidence.accuracy import (
    FEWEST_FOLDS,
    SPREAD,
    Estimate,
    NestedPlan,
    difference_interval,
    held_out_accuracy,
    nested_plan,
    right_by_image,
)
from mixmood.evidence.view import MOST_FOLDS_WORK
from mixmood.heads.problem import ROUGH_TOLERANCE, JointRows, LabelledRows, directions, work_of
from mixmood.numerics.folds import Folds, repeated_folds
from mixmood.numerics.logistic import RowSpace, fit_logistic, row_space, softmax
from mixmood.numerics.neighbours import copy_cosine, cosine_neighbours, unit_rows

N_FOLDS = 5
FEW, N_REPEATS = 300, 5
"""Up to FEW labelled images are divided into folds N_REPEATS times; more once.

More than FEW images are looked at in their 192 main directions."""
SUSPECT = 2 / 3
"""A label is flagged from this score on: another class is at least twice as probable.

On 104 development sets with at least 90 % accuracy and 5 % wrong labels, 91 % of these were
flagged, among 1.2 times as many flags; from 0.5 on these are 96 % and 1.8 times."""
LEFT_OUT = 0.1
"""The heads of the second round are trained without this share of the labels, the worst ones.

Mean average precision on 512 development sets (60 and 150 labels, 2 to 20 % wrong): 0.870 for 1 - p
of the label, 0.880 for this score, 0.888 with the second round; with 0.05 and 0.2 0.886 and 0.890.
"""
MOST_COMPARED = 100  # images whose pictures are compared with the most similar one
N_OWN = 5  # an image is compared with so many of the images of its class that are nearest to it
UNLIKE = 1.75
UNLIKE_SCORE = UNLIKE / (1 + UNLIKE)
"""An image UNLIKE times as far from its class as is usual, with this `unlikeness`, is flagged.

Of 5 % foreign images in development tasks, it finds 67 % if they are of far sources and 27 % if of
other classes of the same source, with 0.5 % of the right images."""
CONFUSED_SHARE, FEWEST_CONFUSED = 0.1, 3  # flag a pair: share and number taken for the other
FEWEST = 4
"""A class with fewer images is flagged, and its labels are not: too few are left to learn it from.

On 80 development sets with 4 labels a class, of which 10 % were made wrong, none of the 124 flags
in classes of two or three images was right."""


def label_scores(chances: Array, codes: Codes) -> tuple[Array, Codes]:
    """How doubtful each label is, from 0 to 1, and the most probable other class; shapes (n,).

    The score is p_other / (p_other + p_label): above 0.5 another class is more probable. It is 0
    where nothing is known: `chances`, shape (n, k), are those of held-out images, otherwise NaN.

    >>> chances = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]])
    >>> scores, others = label_scores(chances, np.array([0, 0]))
    >>> scores.round(2).tolist(), others.tolist()
    ([0.33, 0.78], [1, 1])
    """
    rows, known = np.arange(len(codes)), np.nan_to_num(chances)
    own, others = known[rows, codes], known.copy()
    others[rows, codes] = -1.0
    other = others.argmax(axis=1)
    most = np.maximum(others[rows, other], 0.0)
    total = own + most
    return np.divide(most, total, out=np.zeros_like(most), where=total > 0), other


def mean_chances(logits: Array) -> Array:
    """Class probabilities averaged over repeats, (n, k), of logits (repeats, n, k); NaN if none."""
    is_seen = np.isfinite(logits).all(axis=2, keepdims=True)
    total = np.where(is_seen, softmax(np.nan_to_num(logits)), 0.0).sum(axis=0)
    n_seen = is_seen.sum(axis=0)
    none = np.full_like(total, np.nan)
    return np.asarray(np.divide(total, n_seen, out=none, where=n_seen > 0))


@dataclass(frozen=True, eq=False)
class LabelEvidence:
    """A labelled set, ready to be checked; what is computed is kept."""

    features: Array
    codes: Codes  # the class of each image, 0 to k - 1, each class present; shape (n,)
    seed: int = 0  # decides the folds
    groups: Codes | None = None  # images of one group are held out together

    @property
    def n_classes(self) -> int:
        """How many classes there are (k)."""
        return int(self.codes.max()) + 1

    @cached_property
    def folds(self) -> Folds:
        """Shape (repeats, n); InputError if no image can be held out."""
        if work_of(self.features, self.n_classes) > MOST_FOLDS_WORK:
            raise InputError("there are too many images and classes to cross-validate.")
        n_repeats, rng = N_REPEATS if len(self.codes) <= FEW else 1, rng_for(self.seed, "check")
        return repeated_folds(self.codes, N_FOLDS, n_repeats, rng, self.groups)

    @cached_property
    def held_out(self) -> Array:
        """Logits of held-out images, all labels trusted; shape (repeats, n, k)."""
        return self._plan.out_of_fold(self._fitted(self._plan.weights))

    @cached_property
    def chances(self) -> Array:
        """Class probabilities of images whose label was held out, (n, k); NaN if it never was.

        The mean of two rounds: the second trains without the labels that look worst in the first.
        """
        first = mean_chances(self.held_out)
        order = np.argsort(-label_scores(first, self.codes)[0], kind="stable")
        trains = ~_at_most_half(order[: round(LEFT_OUT * len(order))], self.codes)
        logits = self._fitted(self._plan.weights * trains)
        return (first + mean_chances(self._plan.out_of_fold(logits))) / 2

    @cached_property
    def scores(self) -> Array:
        """How doubtful each label is, from 0 to 1, shape (n,); see `label_scores`."""
        return label_scores(self.chances, self.codes)[0]

    @cached_property
    def suggested(self) -> Codes:
        """The most probable class other than the label, shape (n,)."""
        return label_scores(self.chances, self.codes)[1]

    @cached_property
    def is_flagged(self) -> Mask:
        """Which labels look wrong, shape (n,)."""
        return self._flagged(self.scores)

    def _flagged(self, scores: Array) -> Mask:
        is_learnt = np.bincount(self.codes)[self.codes] >= FEWEST
        return np.asarray((scores >= SUSPECT) & is_learnt)

    @property
    def accuracy(self) -> Estimate:
        """How often held-out images are given their label."""
        return held_out_accuracy(self.held_out, self.codes, self.groups)

    @cached_property
    def confusion(self) -> NDArray[np.float64]:
        """For each pair of classes, the share of held-out images taken for the other; (k, k)."""
        n_seen = self._taken.sum(axis=1)
        return np.asarray(self.n_confused / np.maximum(n_seen[:, None] + n_seen, 1))

    @cached_property
    def n_confused(self) -> NDArray[np.float64]:
        """For each pair of classes, how many held-out images are taken for the other; (k, k)."""
        wrong = self._taken * ~np.eye(self.n_classes, dtype=bool)
        return np.asarray(wrong + wrong.T)

    @property
    def never_recognised(self) -> Mask:
        """Which classes have images that were held out, none of which was given its label; (k,)."""
        return np.asarray((self._taken.sum(axis=1) > 0) & (np.diagonal(self._taken) == 0))

    @cached_property
    def _taken(self) -> NDArray[np.float64]:
        """How many held-out images of each class are taken for each class, shape (k, k)."""
        is_seen = np.isfinite(self.chances).all(axis=1)
        taken = np.zeros((self.n_classes, self.n_classes))
        np.add.at(taken, (self.codes[is_seen], self.chances[is_seen].argmax(axis=1)), 1)
        return taken

    @cached_property
    def without_flagged(self) -> WithoutFlaggedRecord | None:
        """What the set would gain without the flagged labels; None if too few folds can be made.

        Within the training images of each fold, labels are flagged by heads that see neither the
        fold nor the label; the head of the fold is fitted again without them.

        On 64 development sets each, with 0, 5, 10 and 20 % wrong labels at random, leaving the
        flagged ones out gains -0.7, 0.6, 2.2 and 2.9 points on test images, and right labels 0,
        1.3, 3.0 and 4.9. This says -0.3, 0.4, 1.3 and 0.9; its interval always contained 0.
        """
        if self.folds.max() + 1 < FEWEST_FOLDS:
            return None
        plan = nested_plan(self.folds[:1])
        found = self._fitted(np.concatenate([plan.weights, plan.pairs]))
        logits, inner = np.split(found, [len(plan.weights)])
        refits = list(plan.outer.values())
        trains = []
        for repeat, fold in plan.outer:
            inside = mean_chances(plan.inside(inner, repeat, fold))
            suspects = np.flatnonzero(self._flagged(label_scores(inside, self.codes)[0]))
            trains.append(~_at_most_half(suspects, self.codes))
        before, changed = plan.out_of_fold(logits), logits.copy()
        changed[refits] = self._fitted(plan.weights[refits] * np.stack(trains))
        after = plan.out_of_fold(changed)
        change = right_by_image(after, self.codes) - right_by_image(before, self.codes)
        seen = np.isfinite(change)
        gain = difference_interval(change[seen], None if self.groups is None else self.groups[seen])
        # If the prediction of none of n images changes, that of up to 3 / n of others may.
        half = max(SPREAD * (gain.high - gain.value), 3 / int(seen.sum()))
        return WithoutFlaggedRecord(
            held_out_accuracy(before, self.codes, self.groups).measured,
            held_out_accuracy(after, self.codes, self.groups).measured,
            Measured(gain.value, (max(gain.value - half, -1.0), min(gain.value + half, 1.0))),
        )

    @cached_property
    def _plan(self) -> NestedPlan:
        return nested_plan(self.folds)

    @cached_property
    def _rows(self) -> LabelledRows:
        """The images in few coordinates, and the penalty that suits all of them."""
        rows = directions(self.features)
        if min(rows.shape) > FEW:
            coordinates = JointRows(rows[:0], rows, np.ones(len(rows))).coordinates
        else:
            coordinates = row_space(np.asarray(rows, float)).coordinates
        space = RowSpace(coordinates, None, np.zeros(coordinates.shape[1]))
        weights = np.ones((1, len(rows)))
        return LabelledRows(coordinates, self.codes, self.n_classes, weights, space)

    def _fitted(self, weights: NDArray[np.float64]) -> Array:
        """Logits of all images by heads on the rows of these weights (B, n), shape (B, n, k)."""
        rows = self._rows
        fits = fit_logistic(
            rows.space.coordinates,
            rows.targets,
            weights,
            np.full(len(weights), rows.penalties[0] * rows.spread),
            tolerance=ROUGH_TOLERANCE,
            single=True,
        )
        return fits.logits(rows.space.coordinates)


def held_together(copies: "Copies", groups: Codes | None) -> Codes | None:
    """The groups, each with all copies of its images, shape (n,); None if there are neither."""
    # A copy with another label would speak against the right label too.
    pairs = np.flatnonzero(copies.is_copy)
    if not pairs.size:
        return groups
    members = np.arange(len(copies.rows)) if groups is None else groups.copy()
    for row in pairs.tolist():
        members[members == members[row]] = members[copies.rows[row]]
    return members


SURE, N_MENTIONED = 0.9, 2  # `rank` and `train` name so many labels of at least this score unasked


def doubtful_sentence(
    features: Array,
    codes: Codes,
    names: Sequence[str],
    place: Callable[[int], str],
    seed: int,
    groups: Codes | None = None,
) -> str:
    """A sentence about the labels that `check` flags; empty if none is as doubtful as SURE.

    The features are in the order of their set; `place` gives the name of an image.
    """
    present, own = np.unique(codes, return_inverse=True)
    if len(present) < 2:
        return ""
    members = held_together(copies_in_other_classes(features, own), groups)
    evidence = LabelEvidence(features, own, seed, members)
    try:
        scores = np.where(evidence.is_flagged, evidence.scores, 0.0)
    except InputError:  # nothing can be held out
        return ""
    if scores.max() < SURE:
        return ""
    rows = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores)].tolist()
    others = present[evidence.suggested]
    named = [f"{place(row)} ({names[codes[row]]}, looks like {names[others[row]]})" for row in rows]
    look = either_form(len(rows), "label looks", "labels look")
    return f"{len(rows)} {look} wrong: {first_names(named, N_MENTIONED)}. See mixmood check."


def _at_most_half(rows: Rows, codes: Codes) -> Mask:
    """Which images are left out: the first of these rows, at most half of each class; (n,)."""
    found = np.zeros(len(codes), bool)
    for code in np.unique(codes[rows]):
        found[rows[codes[rows] == code][: np.count_nonzero(codes == code) // 2]] = True
    return found


@dataclass(frozen=True)
class Copies:
    """For each image the most similar one of another set or class."""

    rows: Rows  # the other image, shape (n,)
    cosines: Array
    threshold: float  # from this cosine on, they are copies or near copies
    is_same: Mask | None = None  # pictures known to be the same, (n,); None if none was compared

    @property
    def is_copy(self) -> Mask:
        """Which images have a copy or a near copy, shape (n,)."""
        is_near = np.asarray(self.cosines >= self.threshold)
        return is_near if self.is_same is None else is_near | self.is_same

    @property
    def to_compare(self) -> Rows:
        """Images whose pictures should be compared, the most similar first, at most MOST_COMPARED.

        At 224 pixels, the cosine of a photograph and its copy of JPEG quality 75 is 0.98, of
        quality 40 0.95, and at half the size 0.90; that of nearest neighbours is 0.7.
        """
        likely = (1 + 3 * float(np.median(self.cosines))) / 4
        rows = np.flatnonzero((self.cosines >= likely) & (self.cosines < self.threshold))
        return rows[np.argsort(-self.cosines[rows], kind="stable")][:MOST_COMPARED]


def copies_in_other_classes(features: Array, codes: Codes) -> Copies:
    """The most similar image of another class for each image, two classes or more."""
    units = unit_rows(features)
    rows, cosines = np.zeros(len(codes), int), np.zeros(len(codes))
    for code in np.unique(codes):
        own, others = np.flatnonzero(codes == code), np.flatnonzero(codes != code)
        found = cosine_neighbours(units[own], units[others], 1)
        rows[own], cosines[own] = others[found.indices[:, 0]], found.similarities[:, 0]
    return Copies(rows, np.clip(cosines, 0.0, 1.0), copy_cosine(units))


def copies_among(features: Array, others: Array) -> Copies:
    """The most similar image of another set for each image, shapes (n, d) and (m, d)."""
    units = unit_rows(features)
    found = cosine_neighbours(units, others, 1)
    cosines = np.clip(found.similarities[:, 0], 0.0, 1.0)
    return Copies(found.indices[:, 0], cosines, copy_cosine(units))


def unlikeness(features: Array, codes: Codes) -> Array:
    """How far each image is from its class: d / (d + usual), shape (n,); 0 for an only image.

    d is 1 - the mean cosine to the N_OWN nearest images of the class. The usual d is half that of
    the class and half that of all images, by medians: those of small classes are unreliable.
    """
    rows, distances = directions(features), np.zeros(len(codes))
    for code in np.unique(codes):
        own = np.flatnonzero(codes == code)
        if len(own) > 1:
            found = cosine_neighbours(rows[own], None, N_OWN)
            distances[own] = np.maximum(1 - found.similarities.mean(axis=1, dtype=float), 0.0)
    of_class = np.array([np.median(distances[codes == code]) for code in range(codes.max() + 1)])
    usual = (of_class[codes] + np.median(distances)) / 2
    total = distances + usual
    return np.divide(distances, total, out=np.zeros_like(distances), where=total > 0)
