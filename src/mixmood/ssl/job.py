"""Training from pools to files: what `mixmood train` and `mixmood.train` do."""

import dataclasses
import importlib.util
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixmood.core.errors import MissingExtraError
from mixmood.core.files.atomic import write_atomic
from mixmood.core.progress import Progress, Silent
from mixmood.ssl.input.pools import PoolLoader
from mixmood.ssl.output.curves import curves_png
from mixmood.ssl.output.record import EpochRecord, TrainingRecord
from mixmood.ssl.output.run_files import CURVES, MODEL, RECORD, WEIGHTS
from mixmood.ssl.output.tracking import log_to_mlflow

if TYPE_CHECKING:
    from mixmood.ssl.loop.train import Trained

MEMORY_LIMIT_BYTES = 2 * 1024**3
"""Larger pools are read from disk batch by batch."""


def train_job(
    labelled: Any,
    unlabelled: Any = None,
    *,
    test: Any = None,
    test_share: float | None = None,
    validation_share: float | None = None,
    algorithm: str = "mixmatch",
    settings: Mapping[str, float | int | bool | str | None] | None = None,
    model: Any = "wrn",
    image_size: int | None = None,
    epochs: int = 50,
    updates: int | None = None,
    batch_size: int = 16,
    learning_rate: float = 2e-4,
    weight_decay: float = 1e-4,
    augment: str = "paper",
    ema: float = 0.0,
    device: str = "cpu",
    seed: int = 0,
    out: str | Path | None = None,
    resume: bool = False,
    mlflow: str | None = None,
    memory_limit_bytes: int = MEMORY_LIMIT_BYTES,
    progress: Progress | None = None,
    notify: Callable[[str], None] = lambda message: None,
    on_epoch: Callable[[EpochRecord], None] = lambda epoch: None,
) -> TrainingRecord:
    """The record of a model trained on a few labelled images and a pool of unlabelled ones.

    Pools are whatever `rank` takes; the classes come from class folders or a manifest. With
    `out`, the folder receives `model.pt`, `model.onnx`, `metrics.jsonl`, `record.json` and
    `curves.png`, and a checkpoint to go on from with `resume`. The model is that of the epoch
    selected on the validation images, or of the last epoch.

    Args:
        labelled: Images with classes.
        unlabelled: The pool; not needed for `supervised`.
        test: Images with classes to test on.
        test_share: Without `test`, the share of each class to set aside; 0.25 if left out.
        validation_share: Share of each class to select the epoch by; none if left out.
        algorithm: `supervised`, `mixmatch`, `pseudo-label`, `fixmatch` or `mean-teacher`.
        settings: Settings of the algorithm that differ from its defaults.
        model: `wrn`, `wrn-thin`, ... with changes after a colon, or a `torch.nn.Module`.
        image_size: Side of the images; the size of the first labelled image if left out.
        epochs: Passes over the pool (over the labelled images for `supervised`).
        updates: Updates in all, tested `epochs` times; takes the place of passes.
        batch_size: Labelled images per update, and as many unlabelled ones.
        learning_rate: The peak of the one-cycle policy.
        weight_decay: Decoupled weight decay.
        augment: `paper`, `flips`, `flip-crop`, `crop` or `none`.
        ema: Decay of an average of the weights that is tested in their place.
        device: `cpu`, `cuda` or `mps`.
        seed: Decides everything random.
        out: The folder for results.
        resume: Go on from the checkpoint in `out`, if there is one.
        mlflow: A tracking URI to log the run to.
        memory_limit_bytes: Pools that need more are read from disk as they are needed.
        progress: Who listens.
        notify: Called with each warning.
        on_epoch: Called with each finished epoch.
    """
    _check_torch()
    from mixmood.ssl.loop.train import train

    warnings: list[str] = []
    listener = progress or Silent()
    loader = PoolLoader(listener, _both(warnings.append, notify), seed)
    splits = loader.splits(
        labelled,
        test,
        test_share=test_share,
        validation_share=validation_share,
        image_size=image_size,
    )
    pool = None if unlabelled is None else loader.unlabelled(unlabelled, splits, memory_limit_bytes)
    trained = train(
        *splits.labelled,
        pool,
        *splits.test,
        validation=splits.validation,
        class_names=splits.class_names,
        algorithm=algorithm,
        settings=settings,
        model=model,
        epochs=epochs,
        updates=updates,
        batch_size=batch_size,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        augment=augment,
        ema=ema,
        device=device,
        seed=seed,
        out=out,
        resume=resume,
        progress=listener,
        on_epoch=on_epoch,
    )
    record = dataclasses.replace(trained.record, warnings=tuple(warnings))
    if out is not None:
        _write(Path(out), dataclasses.replace(trained, record=record), (3, *splits.size))
    if mlflow is not None:
        log_to_mlflow(record, mlflow, None if out is None else Path(out))
    return record


def parsed_settings(algorithm: str, words: list[str]) -> dict[str, float | int | bool | str | None]:
    """Settings of an algorithm from words such as `gamma=10`."""
    _check_torch()
    from mixmood.ssl.algorithms.registry import parsed

    return parsed(algorithm, words)


def _check_torch() -> None:
    if importlib.util.find_spec("torch") is None:
        raise MissingExtraError("Training", "train")


def _write(folder: Path, trained: "Trained", shape: tuple[int, int, int]) -> None:
    """All files of a finished run; the ONNX one last, for only it can fail by the model's fault."""
    import torch

    from mixmood.ssl.output.onnx_export import to_onnx

    buffer = io.BytesIO()
    torch.save(trained.model.state_dict(), buffer)
    write_atomic(folder / WEIGHTS, buffer.getvalue())
    write_atomic(folder / CURVES, curves_png(trained.record))
    write_atomic(folder / RECORD, trained.record.to_json())
    names = trained.record.class_names
    write_atomic(folder / MODEL, to_onnx(trained.model, trained.standardise, shape, names))


def _both(first: Callable[[str], None], second: Callable[[str], None]) -> Callable[[str], None]:
    def tell(message: str) -> None:
        first(message)
        second(message)

    return tell
