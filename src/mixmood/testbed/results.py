"""What a run gives: what is measured of its pool, and the accuracy of its head or network."""

import math
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image
from threadpoolctl import threadpool_limits

from mixmood.core.arrays import Array
from mixmood.core.cache import open_cache
from mixmood.core.errors import InputError
from mixmood.core.listener import Recorder
from mixmood.core.options import PROBE_ALGORITHMS
from mixmood.core.seeds import rng_for
from mixmood.data.readers.array import ImageArray
from mixmood.data.splits import Pixels, Split
from mixmood.evidence.labelled import MOST_JUDGED, N_POOL, JudgedPart, LabelledEvidence
from mixmood.evidence.view import ViewEvidence
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.backbones.registry import load_backbone
from mixmood.features.backbones.view import BackboneView
from mixmood.features.extract import Extractor
from mixmood.features.sample import Sample
from mixmood.heads.problem import HeadProblem, head_problem
from mixmood.heads.registry import head_named
from mixmood.ranking.distance import quick_distances
from mixmood.ranking.plan import RankingPlan
from mixmood.ssl.record import N_LAST, TrainingRecord
from mixmood.testbed.config import SCRATCH, TUNED
from mixmood.testbed.record import PoolShare
from mixmood.testbed.run import Job, description, distance_plan, drawn

if TYPE_CHECKING:
    from mixmood.ssl.train import Trained

N_PERMUTATIONS = 99  # tables only need to know whether p-values are below 0.05


def distances_between(labelled: Array, pool: Array, plan: RankingPlan) -> dict[str, Any]:
    """The distances by measure, without intervals, of features (n, d) and a shuffled pool's."""
    # Draws take rows in order.
    order = rng_for(plan.seed, "order", "labelled").permutation(len(labelled))
    some = pool[: plan.sample_size * plan.draws]
    return {**quick_distances(labelled[order], some, plan, N_PERMUTATIONS)}


def sample_of(job: Job, images: Pixels, network: Backbone) -> Sample:
    """Images in the given order, in the view of the backbone; cached if the job has a cache."""
    with open_cache(job.cache, Recorder()) or nullcontext() as kept:
        return Extractor(network, 1, kept).read(ImageArray(images, "images"))


@cache
def loaded_backbone(name: str, resolution: int | None) -> Backbone:
    """The backbone, loaded once in a worker for all of its runs."""
    return load_backbone(name, resolution)


def judged_values(evidence: LabelledEvidence, part: JudgedPart, algorithm: str) -> dict[str, Any]:
    """Useful share and probe of a pool in plain values; None where something cannot be measured.

    What the probe measures is recorded beside the gain that it expects, so that another map from
    one to the other can be applied to records.
    """
    share = probe = None
    if (estimate := part.share) is not None:
        share = {name: getattr(estimate, name) for name in PoolShare.model_fields}
    if not evidence.why_no_gain:
        # An algorithm without a map to points has the default probe of `mixmood rank`.
        probed = algorithm if algorithm in PROBE_ALGORITHMS else PROBE_ALGORITHMS[0]
        effect = evidence.effect(part, probed)
        found = evidence.probe(part, probed, effect)
        names = ("algorithm", "is_learnable", "gain", "interval", "p_helps")
        probe = {name: getattr(found, name) for name in names}
        probe |= {name: getattr(effect, name) for name in ("error", "unrest", "accuracy")}
        probe |= {"change": effect.p_right, "supervised": found.accuracy}
    return {"useful_share": share, "probe": probe}


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
        section, images = self.job.config.frozen, self.split.labelled
        side = section.resolution if isinstance(section.resolution, int) else None
        name, network = section.backbone, loaded_backbone(section.backbone, side)
        views = network.views(section.resolution, section.depth)
        view = views[-1]
        if len(views) > 1:
            pool, rows = ImageArray(images, "images"), range(min(len(images), MOST_JUDGED))
            wanted = [BackboneView(name, one) for one in views]
            with open_cache(self.job.cache, Recorder()) or nullcontext() as kept:
                found = Extractor(None, 1, kept).read_views({name: network}, wanted, pool, rows)
            features = {one: sample.features for one, sample in found.items()}
            labels, digests = self.split.labels[: len(rows)], found[wanted[0]].digests
            # Without a class of two images nothing can be compared: the largest view is used.
            with suppress(InputError):
                view = ViewEvidence(features, labels, digests).choice.chosen.view
        return network.at(view, with_last=True)

    @cached_property
    def labelled(self) -> Sample:
        """The labelled images in this view."""
        return sample_of(self.job, self.split.labelled, self.network)

    @cached_property
    def unlabelled(self) -> Sample:
        """The pool in this view."""
        return sample_of(self.job, self.split.unlabelled, self.network)

    @cached_property
    def test(self) -> Sample:
        """The test images in this view."""
        return sample_of(self.job, self.split.test, self.network)

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
        """Every measure on the last layer of the heads' network, unless another was wanted."""
        section, own = self.job.config.distances, self.network.resolution
        plan, side = distance_plan(self.job), section.resolution or own
        labelled, pool = self.labelled, self.unlabelled
        if (section.backbone, side) != (self.job.config.frozen.backbone, own):
            some = self.split.unlabelled[: plan.sample_size * plan.draws]
            other = loaded_backbone(section.backbone, section.resolution)
            labelled = sample_of(self.job, self.split.labelled, other)
            pool = sample_of(self.job, some, other)
        return distances_between(labelled.last, pool.last, plan)


def frozen_results(job: Job, pool: FrozenPool) -> dict[str, Any]:
    """The results of a frozen run; shared work is timed in the first run that needs it."""
    run, split, settings = job.run, pool.split, head_named(job.run.algorithm)
    with threadpool_limits(job.threads):
        test = pool.test.features
        start = time.perf_counter()
        found: dict[str, Any] = {"distances": None if run.is_supervised else pool.distances}
        if not run.is_supervised:
            found |= judged_values(*pool.judged, run.algorithm)
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


def network_results(job: Job) -> dict[str, Any]:
    """The results of a run that trains a network."""
    split = drawn(job)
    start = time.perf_counter()
    found = {"distances": None} if job.run.is_supervised else measured_pool(job, split)
    distances_s = time.perf_counter() - start
    made = train_on(job, split)
    trained = made.record
    # Without what changes if the run is repeated: times.
    names = "configuration", "n_parameters", "device", "n_threads", "best_epoch", "selected_epoch"
    training = {name: getattr(trained, name) for name in names}
    training["epochs"] = [asdict(epoch) for epoch in trained.epochs]
    for epoch in training["epochs"]:
        del epoch["elapsed_s"]
    return description(job, split) | {
        "training": training | {"arms": made.arms or None},
        "accuracy": by_epoch([epoch.test_accuracy for epoch in trained.epochs], trained),
        "arms": {arm: by_epoch(values, trained) for arm, values in made.arms.items()} or None,
        **found,
        "times": {
            "training_s": trained.elapsed_s,
            "distances_s": distances_s,
            "images_per_s": trained.images_per_s,
        },
    }


def by_epoch(accuracies: Sequence[float], trained: TrainingRecord) -> dict[str, float | None]:
    """The accuracy by each choice of the epoch; validation images choose it in arm A."""
    selected = trained.selected_epoch
    return {
        "best": max(accuracies),
        "last": accuracies[-1],
        "median": median(accuracies[-N_LAST:]),
        "validation": None if selected is None else accuracies[selected - 1],
    }


def measured_pool(job: Job, split: Split) -> dict[str, Any]:
    """Distances, useful share and probe of the run's pool."""
    section, plan = job.config.distances, distance_plan(job)
    # The pool is in random order, so that its first images are a random sample.
    some = split.unlabelled[: max(plan.sample_size * plan.draws, N_POOL)]
    network = loaded_backbone(section.backbone, section.resolution)
    labelled, pool = (sample_of(job, images, network).features for images in (split.labelled, some))
    evidence = LabelledEvidence(labelled, split.labels, job.run.seed)
    judged = judged_values(evidence, evidence.part(pool), job.run.algorithm)
    return {"distances": distances_between(labelled, pool, plan), **judged}


def train_on(job: Job, split: Split) -> "Trained":
    """A training on a split with the options of the job; from scratch with a pool in all arms."""
    from mixmood.ssl.train import train

    cell, is_tuned = job.run.cell, job.run.regime == TUNED
    section = job.config.tuned if is_tuned else job.config.training
    plan = section.plan(
        "supervised" if cell.is_supervised else cell.algorithm,
        updates=None if cell.algorithm == "supervised-epochs" else n_updates_of(job),
        device=job.device,
        threads=job.threads,
        seed=job.run.seed,
    )
    used = resized(split, job.config.tuned.resolution) if is_tuned else split
    has_validation = len(used.validation) > 0
    return train(
        used.labelled,
        used.labels,
        None if cell.is_supervised else used.unlabelled,
        used.test,
        used.test_labels,
        validation=(used.validation, used.validation_labels) if has_validation else None,
        class_names=used.class_names,
        plan=plan,
        has_arms=job.run.regime == SCRATCH and not cell.is_supervised,
    )


def n_updates_of(job: Job) -> int:
    """The number of updates of a run; it is the same if contamination makes the pool larger."""
    if job.run.regime == TUNED:
        return job.config.tuned.updates
    section, n_pool = job.config.training, job.run.n_unlabelled or job.config.split.n_unlabelled
    n_images = job.run.n_labelled if job.run.algorithm == "supervised-epochs" else n_pool
    return section.epochs * math.ceil(n_images / section.batch_size)


def resized(split: Split, side: int) -> Split:
    """The split as square RGB images of this side, for fine-tuning the backbone."""

    def squares(images: Pixels) -> Pixels:
        made = np.empty((len(images), side, side, 3), np.uint8)
        for row, pixels in enumerate(images):
            image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
            square = image.convert("RGB").resize((side, side), Image.Resampling.BILINEAR)
            made[row] = np.asarray(square)
        return made

    parts = ("labelled", "unlabelled", "test", "validation")
    made: dict[str, Any] = {part: squares(getattr(split, part)) for part in parts}
    return replace(split, **made)
