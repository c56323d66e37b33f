"""A run in the regime `frozen`: a head trained on features of the backbone, without epochs."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mixmood.core.arrays import Array
from mixmood.core.seeds import rng_for
from mixmood.data.splits.split import Images, Split
from mixmood.testbed.runs.distances import Distances, distance_plan, features_of, quickly_measured
from mixmood.testbed.runs.outlook import Outlook, Values, probed_algorithm
from mixmood.testbed.runs.run import Job, description, drawn

if TYPE_CHECKING:
    from mixmood.heads.fitting.problem import HeadProblem

Extract = Callable[[Job, Images], Array]


@dataclass(frozen=True)
class FrozenPool:
    """One split, with all that depends on its images: computed when first asked for, then kept."""

    job: Job
    extract: Extract

    @cached_property
    def split(self) -> Split:
        """The images."""
        return drawn(self.job)

    @cached_property
    def labelled(self) -> Array:
        """Features of the labelled images."""
        return self.extract(self.job, self.split.labelled)

    @cached_property
    def unlabelled(self) -> Array:
        """Features of the pool."""
        return self.extract(self.job, self.split.unlabelled)

    @cached_property
    def test(self) -> Array:
        """Features of the test images."""
        return self.extract(self.job, self.split.test)

    @cached_property
    def distances(self) -> Distances:
        """Every measure between pool and labelled images."""
        section, frozen = self.job.config.distances, self.job.config.frozen
        place = (section.backbone, section.resolution)
        plan = distance_plan(self.job)
        if place == (frozen.backbone, frozen.resolution):
            return quickly_measured(self.labelled, self.unlabelled, plan)
        some = self.split.unlabelled[: plan.sample_size * plan.draws]
        labelled = features_of(self.job, self.split.labelled, *place)
        return quickly_measured(labelled, features_of(self.job, some, *place), plan)

    @cached_property
    def problem(self) -> "HeadProblem":
        """What heads are fitted to; they share their start and the neighbours of the pool."""
        from mixmood.heads.fitting.problem import head_problem

        split = self.split
        return head_problem(self.labelled, split.labels, len(split.class_names), self.unlabelled)

    @cached_property
    def outlook(self) -> Outlook:
        """The labelled images, ready to judge the pool."""
        split = self.split
        return Outlook(self.labelled, split.labels, len(split.class_names), self.job.run.seed)

    @cached_property
    def share(self) -> Values | None:
        """The useful share of the pool."""
        return self.outlook.share(self.unlabelled)


@dataclass
class FrozenPools:
    """What jobs share that are done one after the other: features, and the split used last."""

    _last: dict[object, FrozenPool] = field(default_factory=dict)
    _features: dict[bytes, Array] = field(default_factory=dict)

    def of(self, job: Job) -> FrozenPool:
        """The split of a job; only one is kept in memory."""
        scenario = job.run.scenario(job.config)
        if scenario not in self._last:
            self._last = {scenario: FrozenPool(job, self._extract)}
        return self._last[scenario]

    def _extract(self, job: Job, images: Images) -> Array:
        """Features of images; of the same images, also of another split, those found before."""
        key = hashlib.sha256(images.tobytes()).digest()
        if key not in self._features:
            section = job.config.frozen
            self._features[key] = features_of(job, images, section.backbone, section.resolution)
        return self._features[key]


def frozen_results(job: Job, pools: FrozenPools) -> dict[str, Any]:
    """The results of a frozen run; work that runs share is timed in the first that needs it."""
    from threadpoolctl import threadpool_limits

    from mixmood.heads.fitting.problem import head_problem
    from mixmood.heads.registry import head_named

    pool, run = pools.of(job), job.run
    split, n_classes = pool.split, len(pool.split.class_names)
    with threadpool_limits(job.threads):
        labelled, test = pool.labelled, pool.test
        start = time.perf_counter()
        found = {} if run.is_supervised else _measured(pool, run.algorithm)
        distances_s = time.perf_counter() - start
        start = time.perf_counter()
        alone = head_problem(labelled, split.labels, n_classes) if run.is_supervised else None
        rng = rng_for(run.seed, "head", run.algorithm)
        head = head_named(run.algorithm).head.fit(alone or pool.problem, rng)[0]
        training_s = time.perf_counter() - start
        is_right = head.predict(test) == split.test_labels
    return (
        description(job, split)
        | {
            "training": None,
            "head": {
                "backbone": job.config.frozen.backbone,
                "resolution": job.config.frozen.resolution,
                "settings": asdict(head_named(run.algorithm).head),  # type: ignore[call-overload]
            },
            "accuracy": {"test": float(is_right.mean())},
            "test_halves": [float(is_right[k::2].mean()) for k in (0, 1)],
            "distances": None,
            **found,
            "times": {"training_s": training_s, "distances_s": distances_s},
        }
    )


def _measured(pool: FrozenPool, algorithm: str) -> dict[str, Any]:
    """Distances, useful share and probe of a pool."""
    return {
        "distances": pool.distances,
        "useful_share": pool.share,
        "probe": pool.outlook.probe(pool.unlabelled, probed_algorithm(algorithm), pool.share),
    }
