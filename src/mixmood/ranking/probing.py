"""The probe and the useful share of a pool, from the images that were read."""

from dataclasses import dataclass

import numpy as np

from mixmood.core.arrays import Codes
from mixmood.core.errors import InputError
from mixmood.core.records.ranking import LabelWorth, Probe
from mixmood.core.records.useful_share import ShareRecord
from mixmood.core.seeds import rng_for
from mixmood.data.images.labels import group_codes, group_names
from mixmood.data.images.pool import Pool
from mixmood.evidence.curve import LearningCurve, learning_curve
from mixmood.evidence.gain import (
    N_PART,
    N_PARTS,
    Gain,
    LabelledFolds,
    gain_of,
    labelled_folds,
    pool_effect,
)
from mixmood.evidence.share import useful_share
from mixmood.ranking.plan import RankingPlan
from mixmood.ranking.reading import Reading

N_POOL = N_PART * N_PARTS
"""Pool images that are read for the probe."""
N_FIRST = 300
"""Images that decide whether a pool is foreign; a foreign pool is not read further."""
MOST_LABELLED = 500
"""Labelled images that the probe uses; it bounds the time."""
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
        """The probe of pool images in random order; only the first N_POOL are used."""
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
    """A gain in labels; None if it is not above 0, or if the learning curve cannot tell."""
    labels = curve.worth(gain.points) if gain.points > 0 else None
    interval = curve.worth_interval(gain.points, gain.error)
    if not labels or interval == (0, None):
        return None  # an interval from 0 without an upper end says nothing
    return LabelWorth(labels, interval)


def prober(labelled: Reading, plan: RankingPlan, groups: Codes | None = None) -> Prober | str:
    """The prober for pools; or, where pools cannot be probed, the reason in one sentence.

    Args:
        labelled: The labelled images; more of them are read if the probe needs them.
        plan: The options of the ranking.
        groups: The group of each image of the labelled set; if None, each image is a group.
    """
    labels = labelled.pool.labels
    if labels is None:
        return GIVE_LABELS
    # Always the same number: reading fewer images for distances must not change the probe.
    labelled.grow(MOST_LABELLED, beyond=True)
    codes = np.unique(labels.codes[labelled.kept[:MOST_LABELLED]], return_inverse=True)[1]
    n_classes = int(codes.max(initial=-1)) + 1
    if n_classes > MOST_CLASSES:
        return (
            f"The pools were not probed: the probe takes at most {MOST_CLASSES} classes; got "
            f"{n_classes}."
        )
    features = labelled.features[:MOST_LABELLED]
    members = None if groups is None else groups[labelled.kept[:MOST_LABELLED]]
    try:
        folds = labelled_folds(features, codes, n_classes, rng_for(plan.seed, "folds"), members)
    except InputError as error:
        return f"The pools were not probed: {error}"
    return Prober(folds, learning_curve(folds, rng_for(plan.seed, "curve")), plan)


def groups_of(labelled: Pool, column_or_pattern: str | None) -> Codes | None:
    """The group of each labelled image; None if every image is a group of its own."""
    if column_or_pattern is None:
        return None
    return group_codes(group_names(labelled, column_or_pattern))


def share_of(labelled: Reading, pool: np.ndarray, name: str, seed: int) -> ShareRecord | None:
    """The useful share of pool images, from the first N_POOL; None if it cannot be estimated."""
    labels = labelled.pool.labels
    codes = None if labels is None else labels.codes[labelled.kept[:MOST_LABELLED]]
    rng = rng_for(seed, "share", name)
    try:
        found = useful_share(labelled.features[:MOST_LABELLED], pool[:N_POOL], rng, labels=codes)
    except InputError:
        return None
    return ShareRecord(found.share, found.interval, found.is_trustworthy, found.note)
