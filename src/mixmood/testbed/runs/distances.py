"""Distances between the pool and the labelled images of a run, on the images it trains on."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mixmood.core.arrays import Array, Rows
from mixmood.core.cache.features import open_cache
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
    from mixmood.ranking.probing import N_POOL

    return max(plan.sample_size * plan.draws, N_POOL)


def measured(labelled: Array, pool: Array, plan: "RankingPlan") -> DistancesByMeasure:
    """The distances in plain values; features of shape (n, d), the pool's in random order."""
    from mixmood.ranking.statistics.dissimilarity import distances_of

    found = distances_of(_shuffled(labelled, plan), pool[: plan.sample_size * plan.draws], plan)
    return {
        name: {key: value for key, value in asdict(each).items() if key not in NOT_RECORDED}
        for name, each in found.items()
    }


@dataclass(frozen=True)
class LabelledDraws:
    """The draws of one labelled set and its distances to itself, the same for all pools.

    Attributes:
        labelled: Features, shape (n, d).
        plan: A plan that fits the labelled set.
    """

    labelled: Array
    plan: "RankingPlan"

    @cached_property
    def rows(self) -> Array:
        """The features in random order."""
        return _shuffled(self.labelled, self.plan)

    @cached_property
    def pairs(self) -> Rows:
        """Rows of both sub-samples of each draw, shape (draws, 2, size)."""
        from mixmood.ranking.statistics.draws import labelled_pairs
        from mixmood.ranking.statistics.jackknife import N_DRAWS

        plan, n_draws = self.plan, max(self.plan.draws, N_DRAWS)
        rng = rng_for(plan.seed, "pairs")
        pairs = labelled_pairs(len(self.rows), plan.sample_size, n_draws, rng, plan.paper)
        return pairs[: plan.draws]

    @cached_property
    def intra(self) -> Array:
        """Every measure between the two sub-samples, shape (measures, draws)."""
        return self._compared([self.rows[other] for _, other in self.pairs])

    def quickly_measured(self, pool: Array) -> DistancesByMeasure:
        """The distances of `measured` without intervals, and with fewer permutations for p-values.

        Intervals take two thirds of the time, and no table shows them. Tables only need to know
        whether p is below 0.05.
        """
        from mixmood.ranking.statistics.draws import subsets
        from mixmood.ranking.statistics.jackknife import N_DRAWS
        from mixmood.ranking.statistics.permutation import permutation_p
        from mixmood.ranking.statistics.wilcoxon import wilcoxon_p

        plan = self.plan
        some, most = pool[: plan.sample_size * plan.draws], 2 * plan.sample_size
        n_draws, rng = max(plan.draws, N_DRAWS), rng_for(plan.seed, "subsets", "pool")
        others = subsets(len(some), plan.sample_size, n_draws, rng)[: plan.draws]
        inter = self._compared([some[rows] for rows in others])
        rng = rng_for(plan.seed, "permutation", "pool")
        chances = permutation_p(self.rows[:most], some[:most], plan.measures, N_PERMUTATIONS, rng)
        return {
            name: {
                "distance": float(np.abs(signed).mean()),
                "spread": float(np.abs(signed).std(ddof=1)),
                "signed": float(signed.mean()),
                "p_wilcoxon": wilcoxon_p(inter[m], self.intra[m]),
                "p_permutation": float(chances[m]),
            }
            for m, name in enumerate(plan.measures)
            for signed in [inter[m] - self.intra[m]]
        }

    def _compared(self, others: Sequence[Array]) -> Array:
        """Every measure between the first sub-sample and the other sample of each draw."""
        from mixmood.measures.registry import compare

        plan = self.plan
        columns = [
            compare(self.rows[first], [other], plan.measures, plan.overflow)
            for (first, _), other in zip(self.pairs, others, strict=True)
        ]
        return np.concatenate(columns, axis=1)


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
    with open_cache(job.cache) or nullcontext() as kept:
        return Extractor(network, 1, kept).read(ImageArray(images, "images")).features


@cache
def loaded_backbone(name: str, resolution: int | None) -> "Backbone":
    """The backbone, loaded once in a worker for all of its runs."""
    from mixmood.features.backbones.registry import load_backbone

    return load_backbone(name, resolution)
