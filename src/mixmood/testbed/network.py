"""A run that trains a network: from scratch, or the backbone fine-tuned."""

import math
import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from mixmood.data.splits import Pixels, Split
from mixmood.testbed.config import TUNED
from mixmood.testbed.run import Job, description, drawn
from mixmood.testbed.runs.distances import distance_plan, measured, sample_features
from mixmood.testbed.runs.outlook import probe_values, probed_algorithm, share_values

if TYPE_CHECKING:
    from mixmood.ssl.record import TrainingRecord


def network_results(job: Job) -> dict[str, Any]:
    """The results of a run that trains a network."""
    from mixmood.ssl.train import limit_threads

    limit_threads(job.threads)
    split = drawn(job)
    start = time.perf_counter()
    found = {"distances": None} if job.run.is_supervised else measured_pool(job, split)
    distances_s = time.perf_counter() - start
    trained = train_on(job, split)
    return description(job, split) | {
        "training": _without_times(trained),
        "accuracy": {
            "best": trained.accuracy_best,
            "last": trained.accuracy_last,
            "median": trained.accuracy_median,
            "validation": trained.accuracy_selected,
        },
        **found,
        "times": {
            "training_s": trained.elapsed_s,
            "distances_s": distances_s,
            "images_per_s": trained.images_per_s,
        },
    }


def measured_pool(job: Job, split: Split) -> dict[str, Any]:
    """Distances, useful share and probe of the run's pool."""
    from mixmood.evidence.labelled import LabelledEvidence

    labelled, pool = sample_features(job, split)
    evidence = LabelledEvidence(labelled, split.labels, job.run.seed)
    part = evidence.part(pool)
    return {
        "distances": measured(labelled, pool, distance_plan(job)),
        "useful_share": share_values(part),
        "probe": probe_values(evidence, part, probed_algorithm(job.run.algorithm)),
    }


def train_on(job: Job, split: Split) -> "TrainingRecord":
    """The record of a training on a split, with the options of the job."""
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
    ).record


def n_updates_of(job: Job) -> int:
    """The number of updates of a run; it is the same if contamination makes the pool larger."""
    if job.run.regime == TUNED:
        return job.config.tuned.updates
    section, n_pool = job.config.training, job.config.split.n_unlabelled
    n_images = job.run.n_labelled if job.run.algorithm == "supervised-epochs" else n_pool
    return section.epochs * math.ceil(n_images / section.batch_size)


def resized(split: Split, side: int) -> Split:
    """The same split as square RGB images of this side, for fine-tuning the backbone."""
    return replace(
        split,
        labelled=_squares(split.labelled, side),
        unlabelled=_squares(split.unlabelled, side),
        test=_squares(split.test, side),
        validation=_squares(split.validation, side),
    )


def _squares(images: Pixels, side: int) -> Pixels:
    """Pixels of shape (n, side, side, 3)."""
    made = np.empty((len(images), side, side, 3), np.uint8)
    for row, pixels in enumerate(images):
        image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).convert("RGB")
        made[row] = np.asarray(image.resize((side, side), Image.Resampling.BILINEAR))
    return made


def _without_times(trained: "TrainingRecord") -> dict[str, Any]:
    """The part of a training record that does not change if the run is repeated."""
    epochs = [
        {key: value for key, value in asdict(epoch).items() if key != "elapsed_s"}
        for epoch in trained.epochs
    ]
    return {
        "configuration": trained.configuration,
        "n_parameters": trained.n_parameters,
        "device": trained.device,
        "n_threads": trained.n_threads,
        "best_epoch": trained.best_epoch,
        "selected_epoch": trained.selected_epoch,
        "epochs": epochs,
    }
