"""Distances between the pool and the labelled images of a run, on the images it trains on."""

from contextlib import nullcontext
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any

from mixmood.core.arrays import Array
from mixmood.core.cache import open_cache
from mixmood.core.listener import Recorder
from mixmood.core.seeds import rng_for
from mixmood.data.readers.array import ImageArray
from mixmood.data.splits import Pixels, Split
from mixmood.testbed.run import Job

if TYPE_CHECKING:
    from mixmood.features.backbones.backbone import Backbone
    from mixmood.ranking.plan import RankingPlan

DistancesByMeasure = dict[str, dict[str, Any]]
NOT_RECORDED = ("inter", "intra")
"""Fields with one number for each draw; they can be computed again."""
N_PERMUTATIONS = 99
"""Permutations for the p-values of `quickly_measured`."""


def sample_features(job: Job, split: Split) -> tuple[Array, Array]:
    """Features of the labelled images, and of the pool images that distances and probe need."""
    section = job.config.distances
    # The pool is in random order, so that its first images are a random sample.
    some = split.unlabelled[: n_measured(distance_plan(job))]
    labelled, pool = (
        features_of(job, images, section.backbone, section.resolution)
        for images in (split.labelled, some)
    )
    return labelled, pool


def n_measured(plan: "RankingPlan") -> int:
    """How many images of a pool distances and probe need at most."""
    from mixmood.evidence.labelled import N_POOL

    return max(plan.sample_size * plan.draws, N_POOL)


def measured(labelled: Array, pool: Array, plan: "RankingPlan") -> DistancesByMeasure:
    """The distances in plain values; features of shape (n, d), the pool's in random order."""
    from mixmood.ranking.distance import distances_of

    found = distances_of(_shuffled(labelled, plan), pool[: plan.sample_size * plan.draws], plan)
    return {
        name: {key: value for key, value in asdict(each).items() if key not in NOT_RECORDED}
        for name, each in found.items()
    }


def quickly_measured(labelled: Array, pool: Array, plan: "RankingPlan") -> DistancesByMeasure:
    """The distances of `measured` without intervals, and with fewer permutations for p-values.

    No table shows intervals. Tables only need to know whether p is below 0.05.
    """
    from mixmood.ranking.distance import quick_distances

    some = pool[: plan.sample_size * plan.draws]
    return {**quick_distances(_shuffled(labelled, plan), some, plan, N_PERMUTATIONS)}


def _shuffled(labelled: Array, plan: "RankingPlan") -> Array:
    """The features in random order, because draws take rows in order."""
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
    """Features of images in the given order, shape (n, d); cached if the job has a cache."""
    from mixmood.features.sample import Extractor

    network = loaded_backbone(backbone, resolution)
    with open_cache(job.cache, Recorder()) or nullcontext() as kept:
        return Extractor(network, 1, kept).read(ImageArray(images, "images")).features


@cache
def loaded_backbone(name: str, resolution: int | None) -> "Backbone":
    """The backbone, loaded once in a worker for all of its runs."""
    from mixmood.features.backbones.registry import load_backbone

    return load_backbone(name, resolution)
