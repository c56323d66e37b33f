"""A run that trains a network: from scratch, or the backbone fine-tuned."""

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from mixmood.data.splits import Pixels, Split
from mixmood.evidence.labelled import N_POOL, LabelledEvidence
from mixmood.ssl.record import N_LAST, TrainingRecord
from mixmood.testbed import measured
from mixmood.testbed.config import SCRATCH, TUNED
from mixmood.testbed.run import Job, description, drawn

if TYPE_CHECKING:
    from mixmood.ssl.train import Trained


def network_results(job: Job) -> dict[str, Any]:
    """The results of a run that trains a network."""
    from mixmood.ssl.train import limit_threads

    limit_threads(job.threads)
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
    section, plan = job.config.distances, measured.distance_plan(job)
    # The pool is in random order, so that its first images are a random sample.
    some = split.unlabelled[: max(plan.sample_size * plan.draws, N_POOL)]
    network = measured.loaded_backbone(section.backbone, section.resolution)
    labelled, pool = (
        measured.sample_of(job, images, network).features for images in (split.labelled, some)
    )
    evidence = LabelledEvidence(labelled, split.labels, job.run.seed)
    judged = measured.judged_values(evidence, evidence.part(pool), job.run.algorithm)
    return {"distances": measured.distances_between(labelled, pool, plan), **judged}


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
