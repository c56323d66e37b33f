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
    chosen_network,
    distance_plan,
    distances_between,
    loaded_backbone,
    probe_values,
    probed_algorithm,
    sample_of,
    share_values,
)
from mixmood.testbed.run import Job, description, drawn

if TYPE_CHECKING:
    from mixmood.evidence.labelled import JudgedPart, LabelledEvidence
    from mixmood.features.backbones.backbone import Backbone
    from mixmood.features.sample import Sample
    from mixmood.heads.problem import HeadProblem

N_KEPT = 8
"""Largest number of feature arrays in memory: of labelled sets, test images and the last pool."""


@dataclass
class Shared:
    """Decoded images, features and labelled sets that runs of one task and seed share."""

    decoded: Decoded = field(default_factory=dict)
    _samples: dict[bytes, "Sample"] = field(default_factory=dict)
    _labelled: dict[tuple[object, ...], "SharedLabelled"] = field(default_factory=dict)
    _last: "FrozenPool | None" = None

    def sample(self, job: Job, images: Pixels, network: "Backbone") -> "Sample":
        """Features of images; computed once for the same images, also in another split."""
        seen_as = f"{network.fingerprint} {network.view}".encode()
        key = hashlib.sha256(images.tobytes() + seen_as).digest()
        found = self._samples.pop(key, None)
        if found is None:
            found = sample_of(job, images, network)
        self._samples[key] = found
        while len(self._samples) > N_KEPT:
            del self._samples[next(iter(self._samples))]
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
    def network(self) -> "Backbone":
        """The backbone, in the view that was asked for or chosen on these images."""
        return chosen_network(self.job, self.split.labelled, self.split.labels)

    @cached_property
    def sample(self) -> "Sample":
        """The labelled images in this view."""
        return self.shared.sample(self.job, self.split.labelled, self.network)

    @property
    def features(self) -> Array:
        """Features that heads are trained on."""
        return self.sample.features

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
    def pool(self) -> "Sample":
        """The pool in the view of the labelled images."""
        return self.shared.sample(self.job, self.split.unlabelled, self.labelled.network)

    @property
    def unlabelled(self) -> Array:
        """Features of the pool."""
        return self.pool.features

    @cached_property
    def test(self) -> Array:
        """Features of the test images."""
        return self.shared.sample(self.job, self.split.test, self.labelled.network).features

    @cached_property
    def distances(self) -> dict[str, Any]:
        """Every measure between pool and labelled images: of the last layer, at the resolution of
        the heads unless another one was asked for."""
        section, network = self.job.config.distances, self.labelled.network
        plan, side = distance_plan(self.job), section.resolution or network.resolution
        labelled, pool = self.labelled.sample, self.pool
        if (section.backbone, side) != (self.job.config.frozen.backbone, network.resolution):
            some = self.split.unlabelled[: plan.sample_size * plan.draws]
            other = loaded_backbone(section.backbone, section.resolution)
            labelled, pool = (
                self.shared.sample(self.job, images, other)
                for images in (self.split.labelled, some)
            )
        return distances_between(labelled.last, pool.last, plan)

    @cached_property
    def problem(self) -> "HeadProblem":
        """The problem that heads are fitted to; they share its start and the pool's neighbours."""
        return self.labelled.problem.with_pool(self.unlabelled)

    @cached_property
    def judged(self) -> "JudgedPart":
        """The images of the pool that its probe needs, with their useful share."""
        return self.labelled.evidence.part(self.unlabelled)


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
                **pool.labelled.network.view.describe(),
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
