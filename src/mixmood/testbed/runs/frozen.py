"""A run in the regime `frozen`: a head trained on features of the backbone, without epochs."""

import time
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mixmood.core.arrays import Array
from mixmood.core.seeds import rng_for
from mixmood.data.splits import Pixels, Split
from mixmood.testbed.runs.distances import DistancesByMeasure
from mixmood.testbed.runs.outlook import Values, probed_algorithm
from mixmood.testbed.runs.run import Job, description, drawn
from mixmood.testbed.runs.shared import Shared, SharedLabelled

if TYPE_CHECKING:
    from mixmood.heads.problem import HeadProblem


@dataclass(frozen=True)
class FrozenPool:
    """One split and the values computed from it, each computed when first needed, then kept."""

    job: Job
    shared: Shared

    @cached_property
    def split(self) -> Split:
        """The images."""
        return drawn(self.job, self.shared.decoded)

    @cached_property
    def labelled(self) -> SharedLabelled:
        """The labelled images."""
        return self.shared.labelled_set(self.job, self.split)

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
        place, draws = (section.backbone, section.resolution), self.labelled.draws
        if place == (frozen.backbone, frozen.resolution):
            return draws.quickly_measured(self.unlabelled)
        some = self.split.unlabelled[: draws.plan.sample_size * draws.plan.draws]
        return draws.quickly_measured(self.shared.features(self.job, some, *place))

    @cached_property
    def problem(self) -> "HeadProblem":
        """The problem that heads are fitted to; they share its start and the pool's neighbours."""
        return self.labelled.problem.with_pool(self.unlabelled)

    @cached_property
    def share(self) -> Values | None:
        """The useful share of the pool."""
        return self.labelled.outlook.share(self.unlabelled)

    def _features(self, images: Pixels) -> Array:
        section = self.job.config.frozen
        return self.shared.features(self.job, images, section.backbone, section.resolution)


@dataclass
class FrozenPools:
    """A cache of one split: jobs of the same pool come one after the other."""

    shared: Shared
    _last: dict[object, FrozenPool] = field(default_factory=dict)

    def of(self, job: Job) -> FrozenPool:
        """The split of a job; only one is kept in memory."""
        scenario = job.run.scenario(job.config)
        if scenario not in self._last:
            self._last = {scenario: FrozenPool(job, self.shared)}
        return self._last[scenario]


def frozen_results(job: Job, pools: FrozenPools) -> dict[str, Any]:
    """The results of a frozen run; shared work is timed in the first run that needs it."""
    from threadpoolctl import threadpool_limits

    from mixmood.heads.registry import head_named

    pool, run = pools.of(job), job.run
    split = pool.split
    with threadpool_limits(job.threads):
        test = pool.test
        start = time.perf_counter()
        found = {} if run.is_supervised else _measured(pool, run.algorithm)
        distances_s = time.perf_counter() - start
        start = time.perf_counter()
        rng = rng_for(run.seed, "head", run.algorithm)
        problem = pool.labelled.problem if run.is_supervised else pool.problem
        head = head_named(run.algorithm).head.fit(problem, rng)[0]
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
        "probe": pool.labelled.outlook.probe(
            pool.unlabelled, probed_algorithm(algorithm), pool.share
        ),
    }
