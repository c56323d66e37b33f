"""Training on arrays: what the test bed calls."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mixmood.core.errors import OptionError, OutputError
from mixmood.core.files.atomic import sweep
from mixmood.core.progress import Progress, Silent
from mixmood.core.seeds import rng_for
from mixmood.ssl.algorithms.algorithm import Algorithm
from mixmood.ssl.algorithms.losses import balanced_weights
from mixmood.ssl.algorithms.registry import ALGORITHMS, Setting, algorithm_named
from mixmood.ssl.augmentation.weak import Augment, augmentation
from mixmood.ssl.input.task import Codes, ImagesLike, Task, checked_task
from mixmood.ssl.loop import checkpoint
from mixmood.ssl.loop.average import Average
from mixmood.ssl.loop.loop import Loop, Plan
from mixmood.ssl.loop.network import Network, Precision, device_named
from mixmood.ssl.loop.standardise import Standardise
from mixmood.ssl.models.registry import WideResNetSpec, model_spec
from mixmood.ssl.output import run_files
from mixmood.ssl.output.record import EpochRecord, TrainingRecord

PAPER_EPOCHS = 50


@dataclass(frozen=True)
class Trained:
    """A finished run: its record, its model and how images are standardised for it.

    The model is that of the epoch selected on the validation images, or of the last epoch.
    """

    record: TrainingRecord
    model: nn.Module
    standardise: Standardise


def train(
    labelled: ImagesLike,
    labels: Codes,
    unlabelled: ImagesLike | None,
    test: ImagesLike,
    test_labels: Codes,
    *,
    validation: tuple[ImagesLike, Codes] | None = None,
    class_names: Sequence[str] | None = None,
    algorithm: str | Algorithm = "mixmatch",
    settings: Mapping[str, Setting] | None = None,
    model: str | WideResNetSpec | nn.Module = "wrn",
    epochs: int = PAPER_EPOCHS,
    updates: int | None = None,
    batch_size: int = 16,
    learning_rate: float = 2e-4,
    weight_decay: float = 1e-4,
    augment: str | Augment = "paper",
    ema: float = 0.0,
    device: str = "cpu",
    precision: Precision = "auto",
    seed: int = 0,
    out: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    on_epoch: Callable[[EpochRecord], None] = lambda epoch: None,
) -> Trained:
    """A model trained on a few labelled images and a pool of unlabelled ones, and its record.

    Images are uint8 arrays of shape (n, height, width) or (n, height, width, channels), or
    `Images`; labels are whole numbers from 0. An epoch is one pass over the pool, or over the
    labelled images for `supervised`; with `updates`, the run has that many updates in `epochs`
    equal parts. On a CPU the same inputs, seed and number of threads give the same weights.

    Args:
        labelled: The labelled images.
        labels: Their classes.
        unlabelled: The pool; algorithms without a pool ignore it.
        test: Images to test on after each epoch; nothing is chosen by them.
        test_labels: Their classes.
        validation: Images and labels to select the epoch by.
        class_names: Names of the classes; their numbers if left out.
        algorithm: A name of `ALGORITHMS`, or an object with a `loss`.
        settings: Settings of the named algorithm that differ from its defaults.
        model: A name, optionally with changes (`wrn:blocks=2`), a specification, or a module
            that maps standardised images to logits; a module is trained in place.
        epochs: How often to test.
        updates: How many updates in all; left out, `epochs` passes.
        batch_size: Labelled images per update, and as many unlabelled ones.
        learning_rate: The peak of the one-cycle policy.
        weight_decay: Decoupled weight decay.
        augment: A name of `AUGMENTATIONS`, or an `Augment`.
        ema: Decay of an average of the weights that is tested in their place; 0 for none.
        device: `cpu`, `cuda`, `cuda:1` or `mps`.
        precision: `auto` takes bfloat16 on GPUs built for it, single precision elsewhere.
        seed: Decides everything random.
        out: A folder for checkpoints and metrics.
        resume: Go on from the checkpoint in `out`, if there is one.
        progress: Who listens.
        on_epoch: Called with each finished epoch.
    """
    task = checked_task(
        (labelled, labels), unlabelled, (test, test_labels), validation, class_names
    )
    place = device_named(device)
    _check_numbers(epochs=epochs, updates=updates, batch_size=batch_size)
    _check_rates(learning_rate, weight_decay, ema)
    n_images = _images_of_a_pass(task, algorithm)
    plan = _plan(n_images, epochs, updates, batch_size, learning_rate, seed)
    method = (
        algorithm_named(algorithm, settings or {}, plan.n_updates)
        if isinstance(algorithm, str)
        else algorithm
    )
    spec = model_spec(model) if isinstance(model, str) else model
    weak = augmentation(augment)
    configuration = _configuration(task, plan, method, spec, weak) | {
        "weight_decay": weight_decay,
        "ema": ema,
        "precision": precision,
    }
    folder = None if out is None else Path(out)
    saved = _saved(folder, configuration, resume)
    network = Network(_built(spec, task, seed), place, precision)
    loop = Loop(
        task.to(place),
        plan,
        method,
        network,
        augment=weak,
        weight_decay=weight_decay,
        average=_average(network.model, method, ema),
        class_weights=_class_weights(task, method),
    )
    if saved is not None:
        _restore(loop, saved, folder)
    loop.run(folder, configuration, progress or Silent(), on_epoch)
    return _trained(loop, configuration, device)


def _restore(loop: Loop, saved: dict[str, Any], folder: Path | None) -> None:
    try:
        loop.restore(saved)
    except Exception as error:
        # A checkpoint that can be loaded may still hold anything in any place.
        reason = f"{type(error).__name__}: {error}".splitlines()[0]  # torch's go on for pages
        raise checkpoint.unreadable(folder or Path(), reason) from error


def _images_of_a_pass(task: Task, algorithm: str | Algorithm) -> int:
    kind = ALGORITHMS.get(algorithm) if isinstance(algorithm, str) else algorithm
    needs_pool = bool(getattr(kind, "needs_pool", False))
    if needs_pool and task.unlabelled is None:
        name = algorithm if isinstance(algorithm, str) else algorithm.name
        raise OptionError(
            f"{name} needs unlabelled images; got none. Give a pool, or train with 'supervised'."
        )
    if needs_pool and task.unlabelled is not None:
        return len(task.unlabelled)
    return len(task.labelled.images)


def _plan(
    n_images: int,
    epochs: int,
    updates: int | None,
    batch_size: int,
    learning_rate: float,
    seed: int,
) -> Plan:
    per_pass = math.ceil(n_images / batch_size)
    n_updates = epochs * per_pass if updates is None else updates
    return Plan(
        n_updates=n_updates,
        updates_per_epoch=per_pass if updates is None else math.ceil(updates / epochs),
        batch_size=batch_size,
        learning_rate=learning_rate,
        seed=seed,
    )


def _check_numbers(**numbers: int | None) -> None:
    for name, value in numbers.items():
        if value is not None and value < 1:
            raise OptionError(f"{name} must be at least 1; got {value}.")


def _check_rates(learning_rate: float, weight_decay: float, ema: float) -> None:
    if not 0 < learning_rate < math.inf:
        raise OptionError(f"learning_rate must be a number above 0; got {learning_rate}.")
    if not 0 <= weight_decay < math.inf:
        raise OptionError(f"weight_decay must be 0 or a number above; got {weight_decay}.")
    if not 0 <= ema < 1:
        raise OptionError(f"ema must be at least 0 and below 1; got {ema}.")


def _configuration(
    task: Task, plan: Plan, algorithm: Algorithm, model: WideResNetSpec | nn.Module, weak: Augment
) -> dict[str, Any]:
    """All that decides the weights, in plain values."""
    return {
        "algorithm": algorithm.name,
        "settings": {field.name: getattr(algorithm, field.name) for field in _fields(algorithm)},
        "model": asdict(model) if isinstance(model, WideResNetSpec) else repr(model),
        "epochs": math.ceil(plan.n_updates / plan.updates_per_epoch),
        "updates": plan.n_updates,
        "batch_size": plan.batch_size,
        "learning_rate": plan.learning_rate,
        "augment": asdict(weak),
        "seed": plan.seed,
        "data": task.digest(),
    }


def _fields(algorithm: object) -> tuple[Field[Any], ...]:
    return fields(algorithm) if is_dataclass(algorithm) else ()


def _saved(folder: Path | None, configuration: dict[str, Any], resume: bool) -> Any:
    if folder is None:
        if resume:
            raise OptionError("resume needs the folder of the run to go on with; got none.")
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"Cannot make the folder {folder}: {error.strerror}.") from error
    if not resume and (folder / run_files.CHECKPOINT).exists():
        raise OutputError(
            f"The folder {folder} holds a run already. Go on with it by --resume, or choose "
            "another folder."
        )
    sweep(folder, *run_files.ALL)
    return checkpoint.load(folder, configuration) if resume else None


def _built(spec: WideResNetSpec | nn.Module, task: Task, seed: int) -> nn.Module:
    if isinstance(spec, nn.Module):
        return spec
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng_for(seed, "weights").integers(2**63)))
        return spec.build(task.labelled.images.shape, task.n_classes)


def _average(model: nn.Module, algorithm: Algorithm, ema: float) -> Average | None:
    if ema and algorithm.teacher_decay:
        raise OptionError(
            f"{algorithm.name} has an average of its own; got ema = {ema:g} too. "
            "Set teacher_decay instead."
        )
    decay = algorithm.teacher_decay or ema
    return Average(model, decay) if decay else None


def _class_weights(task: Task, algorithm: Algorithm) -> Tensor:
    if not getattr(algorithm, "balanced", True):
        return torch.ones(task.n_classes)
    counts = torch.bincount(task.labelled.codes, minlength=task.n_classes)
    return balanced_weights(counts.float())


def _trained(loop: Loop, configuration: dict[str, Any], device: str) -> Trained:
    task = loop.task
    per_update = loop.plan.batch_size * (1 if loop.pool is None else 2)
    record = TrainingRecord(
        configuration=configuration,
        class_names=task.class_names,
        n_labelled=len(task.labelled.images),
        n_unlabelled=0 if loop.pool is None else len(loop.pool),
        n_test=len(task.test.images),
        n_validation=0 if task.validation is None else len(task.validation.images),
        n_parameters=sum(p.numel() for p in loop.network.model.parameters()),
        device=device,
        n_threads=torch.get_num_threads(),
        epochs=loop.epochs,
        elapsed_s=loop.elapsed_s,
        images_per_s=loop.n_done * per_update / loop.training_s,
    )
    model = loop.tested
    if loop.selected is not None:
        model.load_state_dict(loop.selected)
    return Trained(record, model.eval(), loop.standardise)
