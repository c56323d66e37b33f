"""Runs in the regime `frozen`: heads on features of the backbone."""

import time
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from threadpoolctl import threadpool_limits

from mixmood.core.seeds import rng_for
from mixmood.data.splits import Split
from mixmood.evidence.labelled import JudgedPart, LabelledEvidence
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.sample import Sample
from mixmood.heads.problem import HeadProblem, head_problem
from mixmood.heads.registry import head_named
from mixmood.testbed import measured
from mixmood.testbed.run import Job, description, drawn


@dataclass(frozen=True)
class FrozenPool:
    """One split and the values computed from it, each computed when first needed, then kept.

    Runs of several algorithms share it. Sharing them between the pools of a task and seed too was
    tried: it saved 11 % of a command (30 runs, features in the cache), 21 % with the view chosen.
    """

    job: Job

    @cached_property
    def split(self) -> Split:
        """The images."""
        return drawn(self.job)

    @cached_property
    def network(self) -> Backbone:
        """The backbone, in the view that was asked for or that the labelled images choose."""
        return measured.chosen_network(self.job, self.split.labelled, self.split.labels)

    @cached_property
    def labelled(self) -> Sample:
        """The labelled images in this view."""
        return measured.sample_of(self.job, self.split.labelled, self.network)

    @cached_property
    def unlabelled(self) -> Sample:
        """The pool in this view."""
        return measured.sample_of(self.job, self.split.unlabelled, self.network)

    @cached_property
    def test(self) -> Sample:
        """The test images in this view."""
        return measured.sample_of(self.job, self.split.test, self.network)

    @cached_property
    def judged(self) -> tuple[LabelledEvidence, JudgedPart]:
        """What judges pools, and the images of this one that it needs, with their useful share."""
        evidence = LabelledEvidence(self.labelled.features, self.split.labels, self.job.run.seed)
        return evidence, evidence.part(self.unlabelled.features)

    @cached_property
    def supervised(self) -> HeadProblem:
        """The problem that heads are fitted to without the pool."""
        n_classes = len(self.split.class_names)
        return head_problem(self.labelled.features, self.split.labels, n_classes)

    @cached_property
    def problem(self) -> HeadProblem:
        """The problem that heads are fitted to; they share its start and the pool's neighbours."""
        return self.supervised.with_pool(self.unlabelled.features)

    @cached_property
    def distances(self) -> dict[str, Any]:
        """Every measure between pool and labelled images: of the last layer, at the resolution of
        the heads unless another one was asked for."""
        section, own = self.job.config.distances, self.network.resolution
        plan, side = measured.distance_plan(self.job), section.resolution or own
        labelled, pool = self.labelled, self.unlabelled
        if (section.backbone, side) != (self.job.config.frozen.backbone, own):
            some = self.split.unlabelled[: plan.sample_size * plan.draws]
            other = measured.loaded_backbone(section.backbone, section.resolution)
            labelled = measured.sample_of(self.job, self.split.labelled, other)
            pool = measured.sample_of(self.job, some, other)
        return measured.distances_between(labelled.last, pool.last, plan)


def frozen_results(job: Job, pool: FrozenPool) -> dict[str, Any]:
    """The results of a frozen run; shared work is timed in the first run that needs it."""
    run, split, settings = job.run, pool.split, head_named(job.run.algorithm)
    with threadpool_limits(job.threads):
        test = pool.test.features
        start = time.perf_counter()
        found: dict[str, Any] = {"distances": None if run.is_supervised else pool.distances}
        if not run.is_supervised:
            found |= measured.judged_values(*pool.judged, run.algorithm)
        distances_s = time.perf_counter() - start
        start = time.perf_counter()
        rng = rng_for(run.seed, "head", run.algorithm)
        head = settings.fit(pool.supervised if run.is_supervised else pool.problem, rng)[0]
        training_s = time.perf_counter() - start
        is_right = head.predict(test) == split.test_labels
    return {
        **description(job, split),
        "training": None,
        "head": {
            "backbone": job.config.frozen.backbone,
            **pool.network.view.describe(),
            "settings": asdict(settings),  # type: ignore[call-overload]
        },
        "accuracy": {"test": float(is_right.mean())},
        "test_halves": [float(is_right[k::2].mean()) for k in (0, 1)],
        **found,
        "times": {"training_s": training_s, "distances_s": distances_s},
    }
