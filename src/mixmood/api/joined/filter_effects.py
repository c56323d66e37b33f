"""The distance and the expected gain of a pool, before and after filtering."""

import numpy as np

from mixmood.core.arrays import Array, Rows
from mixmood.core.family_names import DEFAULT_MEASURE
from mixmood.core.records.filtering import (
    DistanceChange,
    DistanceInterval,
    GainChange,
    GainInterval,
)
from mixmood.core.records.ranking import Probe
from mixmood.core.records.useful_share import ShareRecord
from mixmood.core.seeds import rng_for
from mixmood.data.images.pool import Pool
from mixmood.ranking.plan import RankingPlan
from mixmood.ranking.probing import MOST_LABELLED, N_POOL, Prober, prober, share_of
from mixmood.ranking.reading import Reading
from mixmood.ranking.statistics.dissimilarity import dissimilarity
from mixmood.selection.filter import Decision, FilterJob

MOST_IMAGES = N_POOL
"""The largest number of images of each set; most of their features are in the cache."""
SAMPLE_SIZE = 80
LEAST_SAMPLE = 8
"""With fewer images a distance is not meaningful."""
FEWEST_PROBED = 40
"""With fewer unlabelled images a head hardly differs from the supervised one."""


def before_and_after(
    labelled: Pool, job: FilterJob, decision: Decision
) -> tuple[DistanceChange | None, GainChange | None]:
    """Distance and gain of the whole pool and of its kept part; None if too few are kept."""
    kept = np.flatnonzero(decision.is_kept)
    if len(kept) < LEAST_SAMPLE:
        return None, None
    extractor, seed = job.extractor, job.plan.seed
    own = Reading(
        labelled,
        MOST_LABELLED,
        seed,
        extractor.backbone,
        extractor.jobs,
        extractor.cache,
        extractor.listener,
    )
    own.grow(MOST_LABELLED)
    whole = _sample(job, len(job.pool), "whole")
    part = _sample(job, kept, "kept")
    gains = _gains(own, whole, part, job) if job.plan.probe else None
    return _distances(own.features, whole, part, seed), gains


def _sample(job: FilterJob, among: Rows | int, name: str) -> Array:
    """Features of random images among these indices, or among so many images, in random order."""
    rng = rng_for(job.plan.seed, "filter", name)
    n_images = among if isinstance(among, int) else len(among)
    chosen = rng.choice(among, min(MOST_IMAGES, n_images), replace=False)
    features = job.extractor.read(job.pool, np.sort(chosen)).features
    return features[rng.permutation(len(features))]


def _distances(own: Array, whole: Array, part: Array, seed: int) -> DistanceChange | None:
    size = min(SAMPLE_SIZE, len(own) // 2, len(whole), len(part))
    if size < LEAST_SAMPLE:
        return None
    before, after = (
        dissimilarity(own, rows, DEFAULT_MEASURE, sample_size=size, seed=seed)
        for rows in (whole, part)
    )
    return DistanceChange(
        DEFAULT_MEASURE,
        size,
        DistanceInterval(before.distance, before.interval),
        DistanceInterval(after.distance, after.interval),
    )


def _gains(own: Reading, whole: Array, part: Array, job: FilterJob) -> GainChange | None:
    """Gains as in `rank`; None without classes, or if fewer than 40 images are kept."""
    plan = RankingPlan(seed=job.plan.seed)
    asked = prober(own, plan)
    if not isinstance(asked, Prober) or min(len(whole), len(part)) < FEWEST_PROBED:
        return None
    useful = job.scorer.filter.useful
    share = ShareRecord(useful.share, useful.interval, useful.is_trustworthy, useful.note)
    name = job.pool.name
    before = asked.probe(whole, name, share)
    after = asked.probe(part, f"{name}, kept", share_of(own, part, name, plan.seed))
    return GainChange(plan.probe_algorithm, _gain(before), _gain(after))


def _gain(probe: Probe) -> GainInterval:
    return GainInterval(probe.gain, probe.interval, probe.p_helps)
