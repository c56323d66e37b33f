"""The probe and the useful share of pools as they were read."""

from dataclasses import dataclass

import numpy as np

from mixmood.core.arrays import Codes
from mixmood.core.errors import InputError
from mixmood.core.records.ranking import LabelWorth, Probe
from mixmood.core.records.useful_share import ShareRecord
from mixmood.core.seeds import rng_for
from mixmood.data.pools.groups import group_codes, group_names
from mixmood.data.pools.pool import Pool
from mixmood.ranking.plan import RankingPlan
from mixmood.ranking.probe.learning_curve import LearningCurve, learning_curve
from mixmood.ranking.probe.measure import (
    N_PART,
    N_PARTS,
    LabelledFolds,
    labelled_folds,
    pool_effect,
)
from mixmood.ranking.probe.points import Gain, gain_of
from mixmood.ranking.reading import Reading
from mixmood.scores.useful_share import useful_share

N_POOL = N_PART * N_PARTS
"""Pool images that are read for the probe."""
N_FIRST = 300
"""Images after which a foreign pool is known to be one, and is not read further for the probe."""
FOREIGN = 0.2
"""A pool whose useful share is below this, with all of its interval, is foreign."""
MOST_LABELLED = 500
"""Labelled images that are probed: it bounds the time."""
MOST_CLASSES = 100
GIVE_LABELS = (
    "The probe needs classes: put the labelled images into one folder for each class, or give a "
    "list with a label column, or an .npz file with labels."
)


@dataclass(frozen=True)
class Prober:
    """The labelled images, ready to probe any pool."""

    folds: LabelledFolds
    curve: LearningCurve
    plan: RankingPlan

    def probe(self, pool: np.ndarray, name: str, useful: ShareRecord | None) -> Probe:
        """The probe of some pool images, in random order; the first ones are used."""
        effect = pool_effect(
            self.folds, pool, self.plan.probe_algorithm, rng_for(self.plan.seed, "probe", name)
        )
        share = None if useful is None else useful.share
        gain = gain_of(effect, share, self.folds.accuracy, self.plan.probe_algorithm)
        return Probe(
            gain=gain.points,
            interval=gain.interval,
            p_helps=gain.p_helps,
            algorithm=self.plan.probe_algorithm,
            change=effect.p_right,
            error=effect.error,
            accuracy=100 * self.folds.accuracy,
            is_learnable=self.folds.is_learnable,
            n_pool=min(len(pool), N_POOL),
            worth=worth_of(self.curve, gain),
            n_held_out=effect.n_held_out,
            order_error=gain.order_error,
        )


def worth_of(curve: LearningCurve, gain: Gain) -> LabelWorth | None:
    """A gain in labels; None if it is none, or if the learning curve cannot say."""
    labels = curve.worth(gain.points) if gain.points > 0 else None
    interval = curve.worth_interval(gain.points, gain.error)
    if not labels or interval == (0, None):
        return None  # from nothing to anything says nothing
    return LabelWorth(labels, interval)


def prober(labelled: Reading, plan: RankingPlan, groups: Codes | None = None) -> Prober | str:
    """What probes pools; or, where that is not possible, the reason in one sentence.

    Args:
        labelled: The labelled images; it is read on as far as the probe needs it.
        plan: What is asked for.
        groups: The group of each image of the labelled set; each is its own if None.
    """
    labels = labelled.pool.labels
    if labels is None:
        return GIVE_LABELS
    # Always as many: reading fewer images for distances must not change the probe.
    labelled.grow(MOST_LABELLED, beyond=True)
    codes = np.unique(labels.codes[labelled.kept[:MOST_LABELLED]], return_inverse=True)[1]
    n_classes = int(codes.max(initial=-1)) + 1
    if n_classes > MOST_CLASSES:
        return f"Not probed: {n_classes} classes are more than the {MOST_CLASSES} that it is for."
    features = labelled.features[:MOST_LABELLED]
    members = None if groups is None else groups[labelled.kept[:MOST_LABELLED]]
    try:
        folds = labelled_folds(features, codes, n_classes, rng_for(plan.seed, "folds"), members)
    except InputError as error:
        return f"Not probed: {error}"
    return Prober(folds, learning_curve(folds, rng_for(plan.seed, "curve")), plan)


def groups_of(labelled: Pool, word: str | None) -> Codes | None:
    """The group of each labelled image; None if every image is its own."""
    return None if word is None else group_codes(group_names(labelled, word))


def is_foreign(share: ShareRecord | None) -> bool:
    """Whether hardly anything in a pool looks like the labelled classes: it is avoided anyway."""
    return share is not None and share.interval[1] <= FOREIGN


def share_of(labelled: Reading, pool: np.ndarray, name: str, seed: int) -> ShareRecord | None:
    """The useful share of some pool images, of which the first are used; None if it is unknown."""
    labels = labelled.pool.labels
    codes = None if labels is None else labels.codes[labelled.kept[:MOST_LABELLED]]
    rng = rng_for(seed, "share", name)
    try:
        found = useful_share(labelled.features[:MOST_LABELLED], pool[:N_POOL], rng, labels=codes)
    except InputError:
        return None
    return ShareRecord(found.share, found.interval, found.is_trustworthy, found.note)
