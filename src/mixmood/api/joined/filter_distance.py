"""How far a pool is from the labelled images before and after filtering."""

import numpy as np

from mixmood.core.arrays import Rows
from mixmood.core.family_names import DEFAULT_MEASURE
from mixmood.core.records.filtering import DistanceChange, DistanceInterval
from mixmood.core.seeds import rng_for
from mixmood.data.pools.pool import Pool
from mixmood.ranking.statistics.dissimilarity import dissimilarity
from mixmood.selection.filter import Decision, FilterJob
from mixmood.selection.fit import sampled

MOST_IMAGES = 400
"""Images of each set that are compared; most of their features are in the cache."""
SAMPLE_SIZE = 80
LEAST_SAMPLE = 8
"""Fewer images in a draw say nothing."""


def before_and_after(labelled: Pool, job: FilterJob, decision: Decision) -> DistanceChange | None:
    """The distances of the whole pool and of its kept part; None where too few images are kept."""
    kept = np.flatnonzero(decision.is_kept)
    if len(kept) < LEAST_SAMPLE:
        return None
    seed, read = job.plan.seed, job.embedder.features
    own, _ = read(labelled, sampled(labelled, MOST_IMAGES, seed))
    whole, _ = read(job.pool, sampled(job.pool, MOST_IMAGES, seed))
    part, _ = read(job.pool, _some(kept, seed))
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


def _some(rows: Rows, seed: int) -> Rows:
    if len(rows) <= MOST_IMAGES:
        return rows
    return np.sort(rng_for(seed, "filter", "kept").choice(rows, MOST_IMAGES, replace=False))
