"""The distance and the expected gain of a pool, before and after filtering."""

import numpy as np

from mixmood.core.arrays import Rows
from mixmood.core.options import DEFAULT_MEASURE
from mixmood.core.records.filtering import (
    DistanceChange,
    DistanceInterval,
    GainChange,
    GainInterval,
)
from mixmood.data.images.pool import Pool
from mixmood.evidence.labelled import MOST_LABELLED, N_POOL, LabelledEvidence
from mixmood.ranking.distance import distances_of
from mixmood.ranking.plan import MIN_LABELLED, RankingPlan
from mixmood.ranking.read import LABELLED, POOL, Reading
from mixmood.selection.filter import Decision, FilterJob

LEAST_SAMPLE = MIN_LABELLED
"""With fewer images a distance is not meaningful."""
FEWEST_PROBED = 40
"""With fewer unlabelled images a head hardly differs from the supervised one."""


def before_and_after(
    labelled: Pool, job: FilterJob, decision: Decision
) -> tuple[DistanceChange | None, GainChange | None]:
    """Distance and gain of the whole pool and of its kept part; None if too few are kept.

    Images are chosen and copies are left out as in `rank`, so that the whole pool has the gain
    that `rank` gives it.
    """
    kept = np.flatnonzero(decision.is_kept)
    if len(kept) < LEAST_SAMPLE:
        return None, None
    own = Reading.begin(labelled, MOST_LABELLED, job.plan.seed, LABELLED, job.extractor)
    own = own.read_on(MOST_LABELLED)
    whole, part = (_read(job, own, among) for among in (None, kept))
    gains = _gains(own, whole, part, job.plan.seed) if job.plan.probe else None
    return _distances(own, whole, part, job.plan.seed), gains


def _read(job: FilterJob, labelled: Reading, among: Rows | None) -> Reading:
    """Random images of the pool, or of some of its images."""
    reading = Reading.begin(job.pool, N_POOL, job.plan.seed, POOL, job.extractor, among)
    return reading.read_on(N_POOL, labelled.sample)


def _distances(own: Reading, whole: Reading, part: Reading, seed: int) -> DistanceChange | None:
    plan = RankingPlan(seed=seed)
    size = min(plan.sample_size, len(own.features) // 2, len(whole.features), len(part.features))
    if size < LEAST_SAMPLE:
        return None
    plan = RankingPlan(seed=seed, sample_size=size)
    before, after = (
        distances_of(own.features, pool.features, plan)[plan.measure] for pool in (whole, part)
    )
    return DistanceChange(
        DEFAULT_MEASURE,
        size,
        DistanceInterval(before.distance, before.interval),
        DistanceInterval(after.distance, after.interval),
    )


def _gains(own: Reading, whole: Reading, part: Reading, seed: int) -> GainChange | None:
    """Gains as in `rank`; None without classes, or if fewer than 40 images are kept."""
    evidence = LabelledEvidence(own.features, own.codes, seed)
    if min(len(whole.features), len(part.features)) < FEWEST_PROBED or evidence.why_no_gain:
        return None
    algorithm = RankingPlan(seed=seed).probe_algorithm
    probes = [evidence.probe(evidence.part(pool.features), algorithm) for pool in (whole, part)]
    before, after = (GainInterval(one.gain, one.interval, one.p_helps) for one in probes)
    return GainChange(algorithm, before, after)
