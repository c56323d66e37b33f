"""A run in the regime `frozen`: a head trained on features of the backbone, without epochs."""

import time
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mixmood.core.arrays import Array
from mixmood.core.seeds import rng_for
from mixmood.data.splits.split import Pixels, Split
from mixmood.testbed.runs.distances import (
    DistancesByMeasure,
    distance_plan,
    features_of,
    quickly_measured,
)
from mixmood.testbed.runs.run import Job, description, drawn


@dataclass(frozen=True)
class FrozenPool:
    """One split, with its features and distances: computed when first asked for, then kept."""

    job: Job

    @cached_property
    def split(self) -> Split:
        """The images."""
        return drawn(self.job)

    @cached_property
    def labelled(self) -> Array:
        """Features of the labelled images."""
        return self._features(self.split.labelled)

    @cached_property
    def unlabelled(self) -> Array:
        """Features of the pool."""
        return self._features(self.split.unlabelled)

    @cached_property
    def test(self) -> Array:
        """Features of the test images."""
        return self._features(self.split.test)

    @cached_property
    def distances(self) -> DistancesByMeasure:
        """Every measure between pool and labelled images."""
        section, frozen = self.job.config.distances, self.job.config.frozen
        place = (section.backbone, section.resolution)
        plan = distance_plan(self.job)
        if place == (frozen.backbone, frozen.resolution):
            return quickly_measured(self.labelled, self.unlabelled, plan)
        some = self.split.unlabelled[: plan.sample_size * plan.draws]
        labelled = features_of(self.job, self.split.labelled, *place)
        return quickly_measured(labelled, features_of(self.job, some, *place), plan)

    def _features(self, images: Pixels) -> Array:
        frozen = self.job.config.frozen
        return features_of(self.job, images, frozen.backbone, frozen.resolution)


@dataclass
class FrozenPools:
    """The split that was used last: jobs of one pool come one after the other."""

    _last: dict[object, FrozenPool] = field(default_factory=dict)

    def of(self, job: Job) -> FrozenPool:
        """The split of a job; only one is kept in memory."""
        scenario = job.run.scenario(job.config)
        if scenario not in self._last:
            self._last = {scenario: FrozenPool(job)}
        return self._last[scenario]


def frozen_results(job: Job, pools: FrozenPools) -> dict[str, Any]:
    """The results of a frozen run; work that runs share is timed in the first that needs it."""
    from threadpoolctl import threadpool_limits

    from mixmood.heads.registry import fit_head, head_named

    pool, run = pools.of(job), job.run
    split = pool.split
    with threadpool_limits(job.threads):
        labelled, test = pool.labelled, pool.test
        unlabelled = None if run.is_supervised else pool.unlabelled
        start = time.perf_counter()
        distances = None if run.is_supervised else pool.distances
        distances_s = time.perf_counter() - start
        start = time.perf_counter()
        rng = rng_for(run.seed, "head", run.algorithm)
        n_classes = len(split.class_names)
        head = fit_head(run.algorithm, labelled, split.labels, n_classes, unlabelled, rng)
        training_s = time.perf_counter() - start
        accuracy = float(np.mean(head.predict(test) == split.test_labels))
    return description(job, split) | {
        "training": None,
        "head": {
            "backbone": job.config.frozen.backbone,
            "resolution": job.config.frozen.resolution,
            "settings": asdict(head_named(run.algorithm).head),  # type: ignore[call-overload]
        },
        "accuracy": {"test": accuracy},
        "distances": distances,
        "times": {"training_s": training_s, "distances_s": distances_s},
    }
