"""The probe and the useful share of pools as they were read."""

import re
from dataclasses import dataclass

import numpy as np

from mixmood.core.arrays import Codes
from mixmood.core.errors import InputError
from mixmood.core.records.ranking import LabelWorth, Probe
from mixmood.core.records.useful_share import ShareRecord
from mixmood.core.seeds import rng_for
from mixmood.data.pools.pool import FeatureSource
from mixmood.ranking.plan import RankingPlan
from mixmood.ranking.probe.learning_curve import LearningCurve, learning_curve
from mixmood.ranking.probe.measure import (
    N_PART,
    N_PARTS,
    LabelledFolds,
    labelled_folds,
    pool_effect,
)
from mixmood.ranking.probe.points import gain_of
from mixmood.ranking.reading import Reading
from mixmood.scores.useful_share import useful_share

N_POOL = N_PART * N_PARTS
"""Pool images that are read for the probe."""
MOST_LABELLED = 500
"""Labelled images that are probed: it bounds the time."""
MOST_CLASSES = 100
CLEAR = 2.0
"""Standard errors by which the supervised head must beat the largest class."""
GIVE_LABELS = (
    "The probe needs classes: put the labelled images into one folder for each class, or give a "
    "list with a label column."
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
        gain = gain_of(effect, share, self.plan.probe_algorithm)
        return Probe(
            gain=gain.points,
            interval=gain.interval,
            p_helps=gain.p_helps,
            algorithm=self.plan.probe_algorithm,
            change=effect.p_right,
            error=effect.error,
            accuracy=100 * self.folds.accuracy,
            is_learnable=is_learnable(self.folds),
            n_pool=min(len(pool), N_POOL),
            worth=worth_of(self.curve, gain.points, gain.interval),
        )


def worth_of(
    curve: LearningCurve, points: float, interval: tuple[float, float]
) -> LabelWorth | None:
    """A gain in labels; None if it is none, or if the learning curve cannot say."""
    labels = curve.worth(points) if points > 0 else None
    if not labels:
        return None
    return LabelWorth(labels, (curve.worth(interval[0]) or 0, curve.worth(interval[1])))


def is_learnable(folds: LabelledFolds) -> bool:
    """Whether the supervised head is clearly better than always guessing the largest class."""
    largest = np.bincount(folds.codes).max() / len(folds.codes)
    error = np.sqrt(largest * (1 - largest) / len(folds.codes))
    return bool(folds.accuracy > largest + CLEAR * error)


def prober(labelled: Reading, plan: RankingPlan) -> Prober | str:
    """What probes pools; or, where that is not possible, the reason in one sentence."""
    labels = labelled.pool.labels
    if labels is None:
        return GIVE_LABELS
    codes = np.unique(labels.codes[labelled.kept[:MOST_LABELLED]], return_inverse=True)[1]
    n_classes = int(codes.max(initial=-1)) + 1
    if n_classes > MOST_CLASSES:
        return f"Not probed: {n_classes} classes are more than the {MOST_CLASSES} that it is for."
    features = labelled.features[:MOST_LABELLED]
    try:
        groups = groups_of(labelled, plan.groups)
        folds = labelled_folds(features, codes, n_classes, rng_for(plan.seed, "folds"), groups)
    except InputError as error:
        return f"Not probed: {error}"
    return Prober(folds, learning_curve(folds, rng_for(plan.seed, "curve")), plan)


def groups_of(labelled: Reading, pattern: str | None) -> Codes | None:
    """The group of each labelled image that is probed; None if every image is its own."""
    if pattern is None:
        return None
    pool, found = labelled.pool, re.compile(pattern)
    names = []
    for index in labelled.kept[:MOST_LABELLED].tolist():
        place = f"{pool.name}[{index}]" if isinstance(pool, FeatureSource) else pool.locate(index)
        match = found.search(place)
        if match is None:
            raise InputError(
                f"groups: '{pattern}' does not match {place}. Give a pattern that matches the "
                "path of every labelled image."
            )
        names.append(match[1] if found.groups else match[0])
    return np.asarray(np.unique(names, return_inverse=True)[1])


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
