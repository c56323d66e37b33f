"""Runs in the regime `frozen`: heads on features of the backbone, which runs of one seed share."""

import hashlib
import json
import time
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from mixmood.core.arrays import Array
from mixmood.core.seeds import rng_for
from mixmood.data.splits import NONE, Decoded, Pixels, Scenario, Split, data_fingerprint
from mixmood.testbed.measured import (
    distance_plan,
    distances_between,
    features_of,
    probe_values,
    probed_algorithm,
    share_values,
)
from mixmood.testbed.run import Job, description, drawn

if TYPE_CHECKING:
    from mixmood.evidence.labelled import JudgedPart, LabelledEvidence
    from mixmood.heads.problem import HeadProblem

N_KEPT = 8
"""Largest number of feature arrays in memory: of labelled sets, test images and the last pool."""


@dataclass
class Shared:
    """Decoded images, features and labelled sets that runs of one task and seed share."""

    decoded: Decoded = field(default_factory=dict)
    _features: dict[bytes, Array] = field(default_factory=dict)
    _labelled: dict[tuple[object, ...], "SharedLabelled"] = field(default_factory=dict)
    _last: "FrozenPool | None" = None

    def features(self, job: Job, images: Pixels, backbone: str, resolution: int | None) -> Array:
        """Features of images; computed once for the same images, also in another split."""
        network = f"{backbone} {resolution}".encode()
        key = hashlib.sha256(images.tobytes() + network).digest()
        found = self._features.pop(key, None)
        if found is None:
            found = features_of(job, images, backbone, resolution)
        self._features[key] = found
        while len(self._features) > N_KEPT:
            del self._features[next(iter(self._features))]
        return found

    def forget_sources(self, task: str) -> None:
        """Drop the decoded images of all data sets except the task's own."""
        # The third part of a key is the name of the data set.
        self.decoded = {key: image for key, image in self.decoded.items() if key[2] == task}

    def pool_of(self, job: Job) -> "FrozenPool":
        """The split of a job; only one is kept, since jobs of the same pool follow each other."""
        if self._last is None or self._last.scenario != job.run.scenario(job.config):
            self._last = FrozenPool(job, self)
        return self._last

    def labelled_set(self, job: Job, split: Split) -> "SharedLabelled":
        """The labelled images of a job, with the values that depend on them only."""
        key = job.run.task, job.run.seed, job.run.n_labelled
        if key not in self._labelled:
            self._labelled[key] = SharedLabelled(job, split, self)
        return self._labelled[key]


@dataclass(frozen=True)
class SharedLabelled:
    """The labelled images of some runs, and values computed once for all of their pools."""

    job: Job
    split: Split
    shared: Shared

    @cached_property
    def features(self) -> Array:
        """Features that heads are trained on."""
        section = self.job.config.frozen
        return self.shared.features(
            self.job, self.split.labelled, section.backbone, section.resolution
        )

    @cached_property
    def evidence(self) -> "LabelledEvidence":
        """Judges pools."""
        from mixmood.evidence.labelled import LabelledEvidence

        return LabelledEvidence(self.features, self.split.labels, self.job.run.seed)

    @cached_property
    def problem(self) -> "HeadProblem":
        """The problem that heads are fitted to without a pool."""
        from mixmood.heads.problem import head_problem

        return head_problem(self.features, self.split.labels, len(self.split.class_names))


def shared_with(job: Job) -> Shared:
    """The shared values of runs with the same task, seed, data and protocol in this process."""
    run = job.run
    own = replace(run.scenario(job.config), source=NONE, percent=0.0)
    data = data_fingerprint(own, job.home)
    parts = (run.task, run.contamination, run.seed, data, job.home, job.cache)
    shared = _shared(json.dumps([*map(str, parts), job.config.protocol(run.regime)]))
    shared.forget_sources(run.task)
    return shared


@lru_cache(maxsize=1)
def _shared(key: str) -> Shared:
    """Those of the last key are kept."""
    return Shared()


@dataclass(frozen=True)
class FrozenPool:
    """One split and the values computed from it, each computed when first needed, then kept."""

    job: Job
    shared: Shared

    @cached_property
    def scenario(self) -> Scenario:
        """The settings of the split."""
        return self.job.run.scenario(self.job.config)

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
    def distances(self) -> dict[str, Any]:
        """Every measure between pool and labelled images."""
        section, frozen = self.job.config.distances, self.job.config.frozen
        place, plan = (section.backbone, section.resolution), distance_plan(self.job)
        labelled, pool = self.labelled.features, self.unlabelled
        if place != (frozen.backbone, frozen.resolution):
            some = self.split.unlabelled[: plan.sample_size * plan.draws]
            labelled, pool = (
                self.shared.features(self.job, images, *place)
                for images in (self.split.labelled, some)
            )
        return distances_between(labelled, pool, plan)

    @cached_property
    def problem(self) -> "HeadProblem":
        """The problem that heads are fitted to; they share its start and the pool's neighbours."""
        return self.labelled.problem.with_pool(self.unlabelled)

    @cached_property
    def judged(self) -> "JudgedPart":
        """The images of the pool that its probe needs, with their useful share."""
        return self.labelled.evidence.part(self.unlabelled)

    def _features(self, images: Pixels) -> Array:
        section = self.job.config.frozen
        return self.shared.features(self.job, images, section.backbone, section.resolution)


def frozen_results(job: Job, shared: Shared) -> dict[str, Any]:
    """The results of a frozen run; shared work is timed in the first run that needs it."""
    from threadpoolctl import threadpool_limits

    from mixmood.heads.registry import head_named

    pool, run = shared.pool_of(job), job.run
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
        "useful_share": share_values(pool.judged),
        "probe": probe_values(pool.labelled.evidence, pool.judged, probed_algorithm(algorithm)),
    }
