"""The useful share and the gain of any pool: the same in `rank`, `filter` and the test bed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mixmood.core.arrays import Array, Codes
from mixmood.core.errors import InputError
from mixmood.core.records.ranking import LabelWorth, Probe, ShareRecord
from mixmood.core.seeds import rng_for
from mixmood.evidence.advice import PoolAdvice, advise, is_foreign
from mixmood.evidence.gain import (
    N_PART,
    N_PARTS,
    Gain,
    LabelledFolds,
    LearningCurve,
    PoolEffect,
    gain_of,
    labelled_folds,
    learning_curve,
    pool_effect,
)
from mixmood.evidence.share import share_and_chances
from mixmood.numerics.neighbours import MOST_COMPARED, near_copies

N_POOL = N_PART * N_PARTS  # pool images that share and gain are computed from
N_FIRST = 300  # images that decide whether a pool is foreign: only gains of others need more
MOST_JUDGED, MOST_CLASSES = 500, 100  # labelled images used, and classes: both bound the time
GIVE_LABELS = (
    "The probe needs classes: put the labelled images into one folder for each class, or give a "
    "list with a label column, or an .npz file with labels."
)
POOL = "pool"  # stands for every pool in generators: its name does not change its numbers


@dataclass(frozen=True)
class JudgedPart:
    """The pool images from which share and gain are computed, shape (n, d)."""

    features: Array
    share: ShareRecord | None  # None if it cannot be estimated
    useful: Array  # the chance of each image to be useful, shape (n,); 1 where there is no share


def judged_part(labelled: Array, codes: Codes | None, pool: Array, seed: int) -> JudgedPart:
    """These pool images, which are in random order, with their share and chances."""
    rng = rng_for(seed, "share", POOL)
    try:
        return JudgedPart(pool, *share_and_chances(labelled, pool, rng, codes))
    except InputError:
        return JudgedPart(pool, None, np.ones(len(pool)))


@dataclass(frozen=True, eq=False)
class LabelledEvidence:
    """The labelled images, ready to judge any pool; at most MOST_JUDGED are used."""

    features: Array  # shape (n, d), in random order
    codes: Codes | None  # the class of each image, shape (n,); None without classes
    seed: int
    groups: Codes | None = None  # groups are held out together, (n,); each image its own if None

    def __post_init__(self) -> None:
        """Use the first images only."""
        for name in ("features", "codes", "groups"):
            values = getattr(self, name)
            if values is not None:
                object.__setattr__(self, name, values[:MOST_JUDGED])

    @cached_property
    def folds(self) -> LabelledFolds:
        """The predictions of the supervised head out of fold; InputError if there can be none."""
        if self.codes is None:
            raise InputError(GIVE_LABELS)
        names, codes = np.unique(self.codes, return_inverse=True)
        if len(names) > MOST_CLASSES:
            found = f"the {len(codes)} labelled images that it uses have {len(names)}"
            raise InputError(f"the probe takes at most {MOST_CLASSES} classes; {found}.")
        rng = rng_for(self.seed, "folds")
        return labelled_folds(self.features, codes, len(names), rng, self.groups)

    @cached_property
    def why_no_gain(self) -> str | None:
        """Why gains cannot be measured, in a sentence; None if they can."""
        if self.codes is None:
            return GIVE_LABELS
        try:
            _ = self.folds
        except InputError as error:
            return f"The pools were not probed: {error}"
        return None

    @cached_property
    def curve(self) -> LearningCurve:
        """The learning curve of the supervised head."""
        return learning_curve(self.folds, rng_for(self.seed, "curve"))

    def first_part(self, pool: Array) -> JudgedPart:
        """The first images; if they are foreign, further ones need not be read."""
        return judged_part(self.features, self.codes, pool[:N_FIRST], self.seed)

    def part(self, pool: Array, first: JudgedPart | None = None) -> JudgedPart:
        """The images of a pool to judge; `first` is its `first_part`, if it is known.

        Of a foreign pool, and without classes, these are N_FIRST images. Only the first images
        decide, so that reading more of a pool for other reasons does not change its gain.
        """
        first = first or self.first_part(pool)
        if self.codes is None or is_foreign(first.share) or len(pool) <= N_FIRST:
            return first
        return judged_part(self.features, self.codes, pool[:N_POOL], self.seed)

    def union(self, parts: Sequence[JudgedPart]) -> JudgedPart:
        """Several pools together, as many images of each; the chances are those in its own pool."""
        found = self.part(interleaved([part.features for part in parts]))
        useful = interleaved([part.useful[:, None] for part in parts])[:, 0]
        return replace(found, useful=useful[: len(found.features)])

    def advice(self, part: JudgedPart, probe: Probe | None) -> PoolAdvice:
        """What to do with the pool that the images are a sample of."""
        own, rows = self.features[:MOST_COMPARED], part.features[:MOST_COMPARED]
        copied = float(near_copies(rows, own).mean()) if len(own) > 1 and len(rows) else 0.0
        return advise(probe, part.share, copied)

    def effect(self, part: JudgedPart, algorithm: str) -> PoolEffect:
        """How the images change the predictions of a head that also uses them."""
        rng = rng_for(self.seed, "probe", POOL)
        return pool_effect(self.folds, part.features, algorithm, rng, part.useful)

    def probe(self, part: JudgedPart, algorithm: str, effect: PoolEffect | None = None) -> Probe:
        """The gain for a head, by the `effect` if it is known; InputError if it has none."""
        folds, share = self.folds, None if part.share is None else part.share.share
        effect = effect or self.effect(part, algorithm)
        gain = gain_of(effect, share, folds.accuracy, algorithm)
        return Probe(
            gain=gain.points,
            interval=gain.interval,
            p_helps=gain.p_helps,
            algorithm=algorithm,
            change=effect.p_right,
            error=effect.error,
            accuracy=100 * folds.accuracy,
            is_learnable=folds.is_learnable,
            n_pool=len(part.features),
            worth=worth_of(self.curve, gain),
            n_held_out=effect.n_held_out,
            order_error=gain.order_error,
        )


def worth_of(curve: LearningCurve, gain: Gain) -> LabelWorth | None:
    """A gain in labels; None if it is not above 0, or if the learning curve cannot tell."""
    labels = curve.worth(gain.points) if gain.points > 0 else None
    interval = curve.worth_interval(gain.points, gain.error)
    if not labels or interval == (0, None):
        return None  # an interval from 0 without an upper end says nothing
    return LabelWorth(labels, interval)


def interleaved(pools: Sequence[Array]) -> Array:
    """Rows of several pools in turn, the same number of each: the pools together.

    >>> interleaved([np.array([[1], [2], [3]]), np.array([[7], [8]])]).ravel().tolist()
    [1, 7, 2, 8]
    """
    n = min(map(len, pools))
    rows = np.stack([pool[:n] for pool in pools], axis=1)
    return np.asarray(rows.reshape(n * len(pools), -1))
