"""Distances of a run's pool from its labelled images, on the very images that it trains on."""

from contextlib import nullcontext
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mixmood.core.arrays import Array
from mixmood.core.cache.features import open_cache
from mixmood.core.seeds import rng_for
from mixmood.data.arrays.array_pools import ImageArray
from mixmood.data.splits.split import Pixels, Split
from mixmood.testbed.runs.run import Job

if TYPE_CHECKING:
    from mixmood.features.backbones.backbone import Backbone
    from mixmood.ranking.plan import RankingPlan

DistancesByMeasure = dict[str, dict[str, Any]]
NOT_RECORDED = ("inter", "intra")
"""One number for each draw; they can be drawn again."""


def pool_distances(job: Job, split: Split) -> DistancesByMeasure:
    """Every measure between the labelled and the unlabelled images of a split."""
    plan, section = distance_plan(job), job.config.distances
    labelled = features_of(job, split.labelled, section.backbone, section.resolution)
    # The pool is in random order: its first images are a random sample, enough for all draws.
    some = split.unlabelled[: plan.sample_size * plan.draws]
    pool = features_of(job, some, section.backbone, section.resolution)
    return measured(labelled, pool, plan)


def measured(labelled: Array, pool: Array, plan: "RankingPlan") -> DistancesByMeasure:
    """The distances in plain values; features of shape (n, d), the pool's in random order."""
    from mixmood.ranking.statistics.dissimilarity import distances_of

    found = distances_of(_shuffled(labelled, plan), pool[: plan.sample_size * plan.draws], plan)
    return {
        name: {key: value for key, value in asdict(each).items() if key not in NOT_RECORDED}
        for name, each in found.items()
    }


def quickly_measured(labelled: Array, pool: Array, plan: "RankingPlan") -> DistancesByMeasure:
    """The same distances and p-values without intervals, which no table shows.

    Intervals come from leaving images out, and take two thirds of the time.
    """
    from mixmood.ranking.statistics.distances import drawn_distances
    from mixmood.ranking.statistics.draws import labelled_pairs, subsets
    from mixmood.ranking.statistics.jackknife import N_DRAWS
    from mixmood.ranking.statistics.score import p_values
    from mixmood.ranking.statistics.wilcoxon import wilcoxon_p

    rows, some = _shuffled(labelled, plan), pool[: plan.sample_size * plan.draws]
    n_draws = max(plan.draws, N_DRAWS)
    size, seed = plan.sample_size, plan.seed
    pairs = labelled_pairs(len(rows), size, n_draws, rng_for(seed, "pairs"), plan.paper)
    others = subsets(len(some), size, n_draws, rng_for(seed, "subsets", "pool"))
    found = drawn_distances(rows, [some], pairs, [others], plan.measures, plan.overflow)
    drawn = found.first(plan.draws)
    chances = p_values(rows, some, plan, "pool")
    return {
        name: {
            "distance": float(np.abs(signed).mean()),
            "spread": float(np.abs(signed).std(ddof=1)),
            "signed": float(signed.mean()),
            "p_wilcoxon": wilcoxon_p(drawn.inter[m, 0], drawn.intra[m]),
            "p_permutation": float(chances[m]),
        }
        for m, name in enumerate(plan.measures)
        for signed in [drawn.signed[m, 0]]
    }


def _shuffled(labelled: Array, plan: "RankingPlan") -> Array:
    """Draws take rows in order, so that the order has to be random."""
    return labelled[rng_for(plan.seed, "order", "labelled").permutation(len(labelled))]


def distance_plan(job: Job) -> "RankingPlan":
    """The plan of a job's distances, fitted to its number of labelled images."""
    from mixmood.ranking.plan import RankingPlan

    section = job.config.distances
    return RankingPlan(
        measures=tuple(section.measures),
        sample_size=section.sample_size,
        draws=section.draws,
        seed=job.run.seed,
    ).fitted(job.run.n_labelled)


def features_of(job: Job, images: Pixels, backbone: str, resolution: int | None) -> Array:
    """Features of images in their order, shape (n, d); each image is computed once for a cache."""
    from mixmood.features.extraction.extract import extract

    network = loaded_backbone(backbone, resolution)
    with open_cache(job.cache) or nullcontext() as kept:
        rows = np.arange(len(images))
        return extract(ImageArray(images, "images"), rows, network, jobs=1, cache=kept).features


@cache
def loaded_backbone(name: str, resolution: int | None) -> "Backbone":
    """The backbone, loaded once in a worker for all of its runs."""
    from mixmood.features.backbones.registry import load_backbone

    return load_backbone(name, resolution)
