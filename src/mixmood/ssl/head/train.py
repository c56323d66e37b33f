"""Training a head on pools of images: embedding, choice of the algorithm, record and file."""

import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.cache.features import open_cache
from mixmood.core.listener import Listener, Recorder
from mixmood.core.seeds import rng_for
from mixmood.evidence.choice import TrainedHead, train_head
from mixmood.features.sample import Sample
from mixmood.ssl.head.describe import record_of
from mixmood.ssl.head.graph import FEATURES, model_file
from mixmood.ssl.head.task import HeadTask
from mixmood.ssl.head.typicality import fit_typicality
from mixmood.ssl.head.verify import check_model
from mixmood.ssl.plan import TrainingRunPlan
from mixmood.ssl.record import HeadRecord


@dataclass(frozen=True)
class HeadRun:
    """A finished head: its record, its file, and the data for its page."""

    record: HeadRecord
    model: bytes
    """The ONNX file."""
    labelled: Sample
    codes: NDArray[np.int64]
    """The class of each labelled image, as an index of the record's class names."""
    pool: Sample | None
    trained: TrainedHead


def train_head_on_images(
    labelled: Any,
    unlabelled: Any,
    *,
    plan: TrainingRunPlan,
    listener: Listener,
) -> HeadRun:
    """A head on the frozen features of labelled images and a pool."""
    start, recorder = time.perf_counter(), Recorder(listener)
    with open_cache(plan.cache, listener) or nullcontext() as store:
        task = HeadTask(labelled, unlabelled, plan.test, plan, store, listener, recorder.warn)
        if task.pixel_range is not None:
            listener.note(task.pixel_range.sentence())
        trained = train_head(
            task.labelled.features,
            task.codes,
            len(task.labels.names),
            None if task.pool is None else task.pool.features,
            rng_for(plan.seed, "head"),
            algorithm=plan.algorithm,
            groups=task.groups,
        )
    typicality = fit_typicality(
        task.labelled.features, rng_for(plan.seed, "typicality"), task.groups
    )
    known = task.known() | {"threshold": typicality.threshold}
    model, takes = model_file(trained.head, typicality, task.backbone, known)
    check_model(model, takes, task, trained.head, typicality)
    if takes == FEATURES and task.backbone is not None:
        recorder.warn(
            f"The backbone {task.backbone.name} cannot be part of model.onnx: the file holds the "
            "head only, and takes features."
        )
    if task.backbone is not None and task.backbone.is_batch_dependent:
        recorder.warn(
            f"The features of {task.backbone.name} depend on the other images of a batch: the "
            "accuracy does not hold where few images, or images of few classes, are classified "
            "together."
        )
    record = record_of(task, trained, typicality, takes, plan)
    took_s = time.perf_counter() - start
    record = replace(record, elapsed_s=took_s, warnings=tuple(recorder.warnings))
    return HeadRun(record, model, task.labelled, task.codes, task.pool, trained)
