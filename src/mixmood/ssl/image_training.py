"""Training a network on pools of images, from opening the pools to writing the files."""

import dataclasses
import importlib.util
from collections.abc import Callable
from typing import Any

from mixmood.core.errors import MissingExtraError
from mixmood.core.progress import Progress
from mixmood.ssl.input.pools import PoolLoader
from mixmood.ssl.models.registry import TUNED
from mixmood.ssl.output.pool_use import pool_warnings
from mixmood.ssl.output.record import EpochRecord, TrainingRecord
from mixmood.ssl.output.tracking import log_to_mlflow
from mixmood.ssl.output.write import write_run
from mixmood.ssl.plan import AUTO, Setting
from mixmood.ssl.run_plan import TrainingRunPlan

MEMORY_LIMIT_BYTES = 2 * 1024**3
"""Larger pools are read from disk batch by batch."""


def train_on_images(
    labelled: Any,
    unlabelled: Any,
    *,
    plan: TrainingRunPlan,
    memory_limit_bytes: int,
    progress: Progress,
    warn: Callable[[str], None],
    inform: Callable[[str], None],
    on_epoch: Callable[[EpochRecord], None],
) -> TrainingRecord:
    """The record of a network trained on pools; if the plan has a folder, files are written too."""
    check_torch()
    from mixmood.ssl.loop.checkpoint import prepare_folder
    from mixmood.ssl.loop.train import check_plan, train

    plan = plan.settled(plan.model == TUNED)
    check_plan(plan, unlabelled is not None)
    prepare_folder(plan.folder, plan.resume)
    warnings: list[str] = []

    def note(message: str) -> None:
        warnings.append(message)
        warn(message)

    loader = PoolLoader(progress, plan.seed, warn=note, inform=inform)
    splits = loader.splits(labelled, plan.test, plan)
    pool = None if unlabelled is None else loader.unlabelled(unlabelled, splits, memory_limit_bytes)
    trained = train(
        *splits.labelled,
        pool,
        *splits.test,
        plan=plan,
        validation=splits.validation,
        class_names=splits.class_names,
        out=plan.folder,
        resume=plan.resume,
        progress=progress,
        on_epoch=on_epoch,
    )
    for message in pool_warnings(trained.record, splits.labelled[1]):
        note(message)
    fitted = splits.pixel_range
    record = dataclasses.replace(
        trained.record,
        warnings=tuple(warnings),
        pixel_range=None if fitted is None else fitted.describe(),
    )
    if plan.folder is not None:
        write_run(plan.folder, dataclasses.replace(trained, record=record), (3, *splits.size))
    if plan.mlflow is not None:
        log_to_mlflow(record, plan.mlflow, plan.folder)
    return record


def parsed_settings(algorithm: str, words: list[str]) -> dict[str, Setting]:
    """The settings of an algorithm, parsed from assignments such as `gamma=10`."""
    check_torch()
    from mixmood.ssl.algorithms.registry import parsed

    return parsed("mixmatch" if algorithm == AUTO else algorithm, words)


def load_torch() -> None:
    """Import everything that networks need; the first import takes seconds."""
    check_torch()
    import mixmood.ssl.loop.train  # noqa: F401 - imported only to load it


def check_torch() -> None:
    """Raise MissingExtraError, which says how to install torch, if it is missing."""
    if importlib.util.find_spec("torch") is None:
        raise MissingExtraError("Training", "train")
