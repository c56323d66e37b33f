"""A network trained on pools of images, from opening the pools to writing the files."""

import dataclasses
import importlib.util
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mixmood.core.errors import MissingExtraError
from mixmood.core.files import write_atomic
from mixmood.core.listener import Listener, Recorder
from mixmood.core.mlflow_log import EXPERIMENT, MetricRow, MlflowLog
from mixmood.core.text import dotted, in_percent
from mixmood.ssl.models.registry import TUNED, usual_algorithm
from mixmood.ssl.plan import AUTO, Setting, TrainingRunPlan
from mixmood.ssl.pools import Splits
from mixmood.ssl.record import EpochRecord, TrainingRecord
from mixmood.ssl.run_folder import CURVES, METRICS, MODEL, RECORD, WEIGHTS, prepare_folder

if TYPE_CHECKING:
    from mixmood.ssl.train import Trained


def curves_png(record: TrainingRecord) -> bytes:
    """Losses and accuracies over the updates, as a PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    losses, accuracies = figure.subplots(1, 2)
    lines = {
        "loss_labelled": losses,
        "loss_unlabelled": losses,
        "test_accuracy": accuracies,
        "validation_accuracy": accuracies,
    }
    updates = [epoch.n_updates for epoch in record.epochs]
    for name, axes in lines.items():
        values = [getattr(epoch, name) for epoch in record.epochs]
        if None not in values:
            axes.plot(updates, values, label=name.replace("loss_", "").replace("_accuracy", ""))
    if record.selected_epoch is not None:
        accuracies.axvline(updates[record.selected_epoch - 1], color="grey", linestyle=":")
    losses.set(xlabel="update", ylabel="loss", title=str(record.configuration["algorithm"]))
    accuracies.set(xlabel="update", ylabel="accuracy", ylim=(0, 1), title="accuracy")
    losses.legend()
    accuracies.legend()
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()


LOST = 1 / 3
"""A class is nearly lost if its share of the guesses is below this part of its share of the labels.
In 30 runs on digits with clean pools the 11 with such a class ended below 82 %, others above 87."""
N_EXPECTED = 20  # guesses of the class must be expected: fewer may be missing by chance


def pool_warnings(record: TrainingRecord, codes: ArrayLike) -> Iterator[str]:
    """What the user should know of the pool's part in a training; codes of the labelled images."""
    if all(epoch.share_sure == 0 for epoch in record.epochs):
        threshold = record.configuration["settings"].get("threshold")
        yield (
            f"No guess reached the threshold of {threshold:g} in the whole run: the pool was not "
            "used. Train longer, or set a lower threshold."
        )
    if lost := nearly_lost_class(record, codes):
        name, guessed, labelled = lost
        yield (
            f"The guesses for the pool have nearly lost the class '{name}': {in_percent(guessed)} "
            f"of them, where {in_percent(labelled)} of the labelled images have it. Unless the "
            "pool is so, the model is worse than one without a pool: compare with --algorithm "
            "supervised."
        )


def nearly_lost_class(record: TrainingRecord, codes: ArrayLike) -> tuple[str, float, float] | None:
    """The class that the last guesses lack most, its share of guesses and of labelled images."""
    guessed = record.epochs[-1].pseudo_label_shares
    if guessed is None:
        return None
    before = record.epochs[-2].n_updates if len(record.epochs) > 1 else 0
    own = record.configuration
    n_guesses = (record.epochs[-1].n_updates - before) * own["batch_size"]
    n_guesses *= own["settings"].get("unlabelled_ratio", 1)
    counts = np.bincount(np.asarray(codes), minlength=len(guessed))
    labelled = counts / counts.sum()
    part = np.divide(guessed, labelled, out=np.full(len(guessed), np.inf), where=labelled > 0)
    rarest = int(part.argmin())
    if part[rarest] >= LOST or labelled[rarest] * n_guesses < N_EXPECTED:
        return None
    return record.class_names[rarest], float(guessed[rarest]), float(labelled[rarest])


def log_to_mlflow(record: TrainingRecord, uri: str, folder: Path | None) -> str:
    """The id of a new MLflow run with the parameters, the curves and the files of a run."""
    files = () if folder is None else tuple(folder / name for name in (RECORD, CURVES, METRICS))
    # Name, value, time in ms since the start of the run, and epoch.
    rows: list[MetricRow] = [
        (name, value, int(1000 * epoch.elapsed_s), epoch.epoch)
        for epoch in record.epochs
        for name, value in vars(epoch).items()
        if isinstance(value, float)
    ]
    end = int(1000 * record.elapsed_s), record.epochs[-1].epoch
    summary = record.summary().items()
    rows += [(name, float(value), *end) for name, value in summary if value is not None]
    return MlflowLog(uri, EXPERIMENT).log(dict(dotted(record.configuration)), rows, files=files)


def write_run(folder: Path, trained: "Trained", shape: tuple[int, int, int]) -> None:
    """Write weights, curves, record and ONNX model; the last can fail for some networks."""
    import torch

    from mixmood.ssl.train import to_onnx

    buffer = io.BytesIO()
    torch.save(trained.model.state_dict(), buffer)
    write_atomic(folder / WEIGHTS, buffer.getvalue())
    write_atomic(folder / CURVES, curves_png(trained.record))
    write_atomic(folder / RECORD, trained.record.to_json())
    names, pixel_range = trained.record.class_names, trained.record.pixel_range
    made = to_onnx(trained.model, trained.standardise, shape, names, pixel_range)
    write_atomic(folder / MODEL, made)


MEMORY_LIMIT_BYTES = 2 * 1024**3  # larger pools are read from disk batch by batch


def train_on_images(
    labelled: Any,
    unlabelled: Any,
    *,
    plan: TrainingRunPlan,
    side: Callable[[], int] | None,
    memory_limit_bytes: int,
    listener: Listener,
    on_epoch: Callable[[EpochRecord], None],
) -> TrainingRecord:
    """The record of a network trained on pools; if the plan has a folder, files are written too.

    `side` chooses the size of the images, once options and folder are checked; None if the plan has
    it. Sets above the memory limit are read from disk during training.
    """
    check_torch()
    from mixmood.ssl.train import check_plan, train

    plan = plan.settled(plan.model == TUNED)
    check_plan(plan, unlabelled is not None)
    prepare_folder(plan.folder, plan.resume)
    if side is not None:
        plan = dataclasses.replace(plan, image_size=side())
    recorder = Recorder(listener)
    splits = Splits(labelled, plan, recorder)
    pool = None if unlabelled is None else splits.unlabelled(unlabelled, memory_limit_bytes)
    trained = train(
        *splits.labelled,
        pool,
        *splits.test,
        plan=plan,
        validation=splits.validation,
        class_names=splits.class_names,
        out=plan.folder,
        resume=plan.resume,
        progress=listener,
        on_epoch=on_epoch,
    )
    for message in pool_warnings(trained.record, splits.labelled[1]):
        recorder.warn(message)
    fitted = splits.pixel_range
    record = dataclasses.replace(
        trained.record,
        warnings=tuple(recorder.warnings),
        pixel_range=None if fitted is None else fitted.describe(),
    )
    if plan.folder is not None:
        write_run(plan.folder, dataclasses.replace(trained, record=record), (3, *splits.size))
    if plan.mlflow is not None:
        log_to_mlflow(record, plan.mlflow, plan.folder)
    return record


def parsed_settings(plan: TrainingRunPlan, words: list[str]) -> dict[str, Setting]:
    """The settings of the plan's algorithm, parsed from assignments such as `gamma=10`."""
    check_torch()
    from mixmood.ssl.algorithms.registry import parsed

    is_auto = plan.algorithm == AUTO
    return parsed(usual_algorithm(plan.model) if is_auto else plan.algorithm, words)


def load_torch() -> None:
    """Import everything that networks need; the first import takes seconds."""
    check_torch()
    import mixmood.ssl.train  # noqa: F401 - imported only to load it


def check_torch() -> None:
    """Raise MissingExtraError, which says how to install torch, if it is missing."""
    if importlib.util.find_spec("torch") is None:
        raise MissingExtraError("Training", "train")
