"""Values that frozen runs of one task and seed share; a worker keeps them between batches."""

import hashlib
import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from mixmood.core.arrays import Array
from mixmood.data.splits import NONE, Decoded, Pixels, Split, data_fingerprint
from mixmood.testbed.runs.distances import LabelledDraws, distance_plan, features_of
from mixmood.testbed.runs.outlook import RunOutlook
from mixmood.testbed.runs.run import Job

if TYPE_CHECKING:
    from mixmood.heads.problem import HeadProblem

N_KEPT = 8
"""Largest number of feature arrays in memory: of labelled sets, test images and the last pool."""


@dataclass
class Shared:
    """Decoded images, features and labelled sets that runs of one task and seed share."""

    decoded: Decoded = field(default_factory=dict)
    _features: dict[bytes, Array] = field(default_factory=dict)
    _labelled: dict[tuple[object, ...], "SharedLabelled"] = field(default_factory=dict)

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
    def draws(self) -> LabelledDraws:
        """The draws for distances, which may use another backbone."""
        section = self.job.config.distances
        place = section.backbone, section.resolution
        features = self.shared.features(self.job, self.split.labelled, *place)
        return LabelledDraws(features, distance_plan(self.job))

    @cached_property
    def outlook(self) -> RunOutlook:
        """Computes useful share and probe of pools."""
        split, seed = self.split, self.job.run.seed
        return RunOutlook(self.features, split.labels, len(split.class_names), seed)

    @cached_property
    def problem(self) -> "HeadProblem":
        """The problem that heads are fitted to without a pool."""
        from mixmood.heads.problem import head_problem

        return head_problem(self.features, self.split.labels, len(self.split.class_names))


LAST: dict[str, Shared] = {}
"""The shared values of the last task and seed in this process, by their key."""


def shared_with(job: Job) -> Shared:
    """The shared values of runs with the same task, seed, data and protocol in this process."""
    run = job.run
    own = replace(run.scenario(job.config), source=NONE, percent=0.0)
    data = data_fingerprint(own, job.home)
    parts = (run.task, run.contamination, run.seed, data, job.home, job.cache)
    protocol = job.config.protocol(run.regime)
    key = json.dumps([*map(str, parts), protocol], sort_keys=True)
    if key not in LAST:
        LAST.clear()
        LAST[key] = Shared()
    LAST[key].forget_sources(run.task)
    return LAST[key]
