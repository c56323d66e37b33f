"""`mixmood.train`: a classifier from a few labelled images and a pool of unlabelled ones."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mixmood.core.plans import takes_options_of
from mixmood.core.progress import Progress, Silent
from mixmood.ssl.image_training import MEMORY_LIMIT_BYTES, train_on_images
from mixmood.ssl.output.record import EpochRecord, TrainingRecord
from mixmood.ssl.plan import TrainingPlan


@takes_options_of(TrainingPlan)
def train(
    labelled: Any,
    unlabelled: Any = None,
    *,
    plan: TrainingPlan,
    test: Any = None,
    out: str | Path | None = None,
    resume: bool = False,
    mlflow: str | None = None,
    memory_limit_bytes: int = MEMORY_LIMIT_BYTES,
    progress: Progress | None = None,
    notify: Callable[[str], None] = lambda message: None,
    inform: Callable[[str], None] = lambda message: None,
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
        plan: How to train; or its options by name.
        test: Images with classes to test on.
        out: The folder for results.
        resume: Go on from the checkpoint in `out`, if there is one.
        mlflow: A tracking URI to log the run to.
        memory_limit_bytes: Pools that need more are read from disk as they are needed.
        progress: Called after every image read and every update.
        notify: Called with each warning.
        inform: Called with each choice made for the user, such as the size of the images.
        on_epoch: Called with each finished epoch.
    """
    return train_on_images(
        labelled,
        unlabelled,
        test,
        plan=plan,
        out=None if out is None else Path(out),
        resume=resume,
        mlflow=mlflow,
        memory_limit_bytes=memory_limit_bytes,
        progress=progress or Silent(),
        warn=notify,
        inform=inform,
        on_epoch=on_epoch,
    )
