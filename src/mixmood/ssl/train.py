"""Training a network on arrays of images: the parts of the run, its threads, its configuration."""

import copy
import io
import json
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from mixmood.core.errors import OptionError, OutputError, errors_as, needing
from mixmood.core.listener import Listener, Silent
from mixmood.core.options import with_options
from mixmood.core.seeds import rng_for
from mixmood.ssl.algorithms.algorithm import Algorithm, unlabelled_ratio
from mixmood.ssl.algorithms.registry import ALGORITHMS, algorithm_named
from mixmood.ssl.augment import augmentation
from mixmood.ssl.loop import Length, Loop
from mixmood.ssl.models.network import Follower, Network, Standardise, device_named
from mixmood.ssl.models.registry import (
    TunedSpec,
    WideResNetSpec,
    check_memory,
    model_spec,
    usual_algorithm,
)
from mixmood.ssl.plan import AUTO, HEAD_ONLY, TrainingPlan
from mixmood.ssl.predict import INPUT, METADATA
from mixmood.ssl.record import Arm, EpochRecord, TrainingRecord
from mixmood.ssl.run_folder import load_checkpoint, prepare_folder, unreadable_checkpoint
from mixmood.ssl.task import CodesLike, ImagesLike, Task, checked_task

Spec = WideResNetSpec | TunedSpec | nn.Module


@dataclass(frozen=True)
class Trained:
    """A finished run: its record, its model and the standardisation of its images."""

    record: TrainingRecord
    model: nn.Module  # of the epoch selected on the validation images, or of the last epoch
    standardise: Standardise
    arms: dict[Arm, list[float]]  # test accuracy after each epoch; empty without `has_arms`


@with_options(TrainingPlan)
def train(
    labelled: ImagesLike,
    labels: CodesLike,
    unlabelled: ImagesLike | None,
    test: ImagesLike,
    test_labels: CodesLike,
    *,
    plan: TrainingPlan,
    validation: tuple[ImagesLike, CodesLike] | None = None,
    class_names: Sequence[str] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    progress: Listener | None = None,
    on_epoch: Callable[[EpochRecord], None] = lambda epoch: None,
    has_arms: bool = False,
) -> Trained:
    """A model trained on a few labelled images and a pool of unlabelled ones, and its record.

    Images are uint8 arrays of shape (n, height, width) or (n, height, width, channels), or
    `Images`; labels are whole numbers from 0. An epoch is one pass over the pool, or over the
    labelled images for `supervised`; with `updates`, the run has that many updates in `epochs`
    equal parts. On a CPU the same inputs, options and seed give the same weights. A module given as
    `model` is trained in place.

    Args:
        unlabelled: The pool; algorithms without a pool ignore it.
        test: Images to test on after each epoch; no choice depends on them.
        validation: Images and labels to select the epoch by.
        class_names: Names of the classes; their numbers if left out.
        out: A folder for checkpoints and metrics.
        resume: Go on from the checkpoint in `out`, if there is one.
        has_arms: Test each epoch in all arms; see `mixmood.ssl.record.Arm`. Not with `out`.
    """
    if has_arms and out is not None:
        raise OptionError("has_arms: checkpoints do not keep arms; leave out the folder.")
    task = checked_task(
        (labelled, labels), unlabelled, (test, test_labels), validation, class_names
    )
    place = device_named(plan.device)
    spec = model_spec(plan.model)
    plan = plan.settled(isinstance(spec, TunedSpec))
    method, length = _method(task, plan)
    configuration = _configuration(plan, length, method, spec, task)
    folder = None if out is None else Path(out)
    prepare_folder(folder, resume)
    saved = load_checkpoint(folder, configuration) if resume and folder is not None else None
    shape, per_update = task.labelled.images.shape, _per_update(plan, method)
    if isinstance(spec, WideResNetSpec) and plan.device == "cpu":
        check_memory(spec, shape[1], per_update)
    model = _built(spec, task, plan.seed)
    saved_threads = None if saved is None else int(saved["n_threads"])
    n_threads = plan.threads or saved_threads or default_threads(model, shape, per_update)
    configuration["threads"] = n_threads
    with computing_with(n_threads):
        if isinstance(spec, TunedSpec):
            # The head of the backbone begins at the solution on the frozen features.
            first = task.labelled.images.batch(np.arange(len(task.labelled.images)))
            cast(Any, model).start_from(first, task.labelled.codes.numpy(), task.n_classes)
        network = Network(model, place, plan.precision)
        follower = _follower(model, spec, method, plan.ema)
        loop = Loop(task.to(place), plan, length, method, network, follower, has_arms)
        try:
            if saved is not None:
                loop.restore(saved)
        except Exception as error:
            # A checkpoint that can be loaded may still have values of any type and shape.
            why = f"{type(error).__name__}: {error}".splitlines()[0]  # torch's are long
            raise unreadable_checkpoint(folder or Path(), why) from error
        loop.run(folder, configuration, progress or Silent(), on_epoch)
        return _trained(loop, configuration)


def check_plan(plan: TrainingPlan, has_pool: bool) -> None:
    """Refuse what no run can have, before images are read: reading many of them takes minutes."""
    device_named(plan.device)
    model_spec(plan.model)
    _algorithm(plan, 1, has_pool)
    augmentation(plan.augment)


def _algorithm(plan: TrainingPlan, n_updates: int, has_pool: bool) -> Algorithm:
    """The algorithm with its settings; refused if it needs a pool and there is none."""
    found = plan.algorithm
    if isinstance(found, str):
        name = usual_algorithm(plan.model) if found == AUTO else found
        if name in HEAD_ONLY:
            raise OptionError(
                f"{name} trains heads. Give --model head, or one of {', '.join(ALGORITHMS)} for a "
                "network."
            )
        found = algorithm_named(name, plan.settings, n_updates)
    if found.needs_pool and not has_pool:
        raise OptionError(
            f"{found.name} needs unlabelled images; got none. "
            "Give a pool, or train with 'supervised'."
        )
    return cast(Algorithm, found)


def _method(task: Task, plan: TrainingPlan) -> tuple[Algorithm, Length]:
    """The algorithm with its settings, and the length of the run, which its ramp depends on."""
    has_pool = task.unlabelled is not None
    first = _algorithm(plan, 1, has_pool)
    images, per_update = task.labelled.images, plan.batch_size
    if first.needs_pool and task.unlabelled is not None:
        images, per_update = task.unlabelled, plan.batch_size * unlabelled_ratio(first)
    per_pass = math.ceil(len(images) / per_update)
    length = Length(plan.epochs * per_pass, per_pass)
    if plan.updates is not None:
        length = Length(plan.updates, math.ceil(plan.updates / plan.epochs))
    return _algorithm(plan, length.n_updates, has_pool), length


def _per_update(plan: TrainingPlan, algorithm: Algorithm) -> int:
    """How many images (counting each view) pass through the network with gradients in an update."""
    views = getattr(algorithm, "views", 1) * unlabelled_ratio(algorithm)
    return int(plan.batch_size * (1 + (views if algorithm.needs_pool else 0)))


def _configuration(
    plan: TrainingPlan, length: Length, algorithm: Algorithm, model: Spec, task: Task
) -> dict[str, Any]:
    """Everything that decides the weights of a run."""
    own: Any = fields(algorithm) if is_dataclass(algorithm) else ()
    return {
        "algorithm": algorithm.name,
        "settings": {one.name: getattr(algorithm, one.name) for one in own},
        "model": repr(model) if isinstance(model, nn.Module) else asdict(model),
        "epochs": math.ceil(length.n_updates / length.updates_per_epoch),
        "updates": length.n_updates,
        "batch_size": plan.batch_size,
        "learning_rate": plan.learning_rate,
        "augment": asdict(augmentation(plan.augment)),
        "seed": plan.seed,
        "data": task.digest(),
        "weight_decay": plan.weight_decay,
        "ema": plan.ema,
        "precision": plan.precision,
    }


SMALL_UPDATE = 1e9
"""Parameters times pixels of an update below which one thread computes it. On idle cores a second
thread made updates 1.2 times as fast at 0.9e9, 1.5 times at 4.6e9. On busy cores threads wait for
each other: 60 updates of a small network took 23 s with two threads and 1 s with one."""


def default_threads(model: nn.Module, shape: tuple[int, int, int], n_images: int) -> int:
    """One thread for small updates, else all that torch may use.

    A rule: sums depend on the number, so that one chosen by timing would give other weights.
    """
    n_values = sum(parameter.numel() for parameter in model.parameters())
    is_small = n_values * shape[1] * shape[2] * n_images < SMALL_UPDATE
    return 1 if is_small else torch.get_num_threads()


@contextmanager
def computing_with(n_threads: int) -> Iterator[None]:
    """Within, torch computes with `n_threads` threads; afterwards with as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _built(spec: Spec, task: Task, seed: int) -> nn.Module:
    if isinstance(spec, nn.Module):
        return spec
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng_for(seed, "weights").integers(2**63)))
        return spec.build(task.labelled.images.shape, task.n_classes)


def _follower(model: nn.Module, spec: Spec, algorithm: Algorithm, ema: float) -> Follower | None:
    if ema and algorithm.teacher_decay:
        raise OptionError(
            f"{algorithm.name} has an average of its own; got ema = {ema:g} too. "
            "Set teacher_decay instead."
        )
    decay = algorithm.teacher_decay or ema
    share = spec.share if isinstance(spec, TunedSpec) else None
    return Follower(model, decay, share) if decay or share is not None else None


def _trained(loop: Loop, configuration: dict[str, Any]) -> Trained:
    task, per_update = loop.task, loop.plan.batch_size + loop.n_pool_batch
    record = TrainingRecord(
        configuration=configuration,
        class_names=task.class_names,
        n_labelled=len(task.labelled.images),
        n_unlabelled=0 if loop.pool is None else len(loop.pool),
        n_test=len(task.test.images),
        n_validation=0 if task.validation is None else len(task.validation.images),
        n_parameters=sum(p.numel() for p in loop.network.model.parameters()),
        device=loop.plan.device,
        n_threads=torch.get_num_threads(),
        epochs=loop.epochs,
        elapsed_s=loop.elapsed_s,
        images_per_s=loop.n_done * per_update / loop.training_s,
    )
    model = loop.tested
    if loop.selected is not None:
        model.load_state_dict(loop.selected)
    return Trained(record, model.eval(), loop.standardise, loop.arms)


class _FromPixels(nn.Module):
    """Probabilities of uint8 images (n, height, width, channels): standardisation included."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, model: nn.Module, standardise: Standardise) -> None:
        super().__init__()
        self._model = model
        self.register_buffer("mean", standardise.mean)
        self.register_buffer("deviation", standardise.deviation)

    def forward(self, pixels: Tensor) -> Tensor:
        images = (pixels.float() - self.mean) / self.deviation
        logits: Tensor = self._model(images.permute(0, 3, 1, 2))
        return logits.softmax(dim=1)


def to_onnx(
    model: nn.Module,
    standardise: Standardise,
    shape: tuple[int, int, int],
    class_names: tuple[str, ...],
    pixel_range: dict[str, float] | None = None,
) -> bytes:
    """An ONNX model from uint8 images (channels, height, width) to probabilities, for `predict`."""
    with needing("Writing ONNX models", "train"):
        import onnx
    channels, height, width = shape
    whole = _FromPixels(copy.deepcopy(model), standardise).cpu().eval()
    example = torch.zeros(2, height, width, channels, dtype=torch.uint8)
    buffer: Any = io.BytesIO()
    start = "The model cannot be written as ONNX"
    with errors_as(OutputError, start, "Its weights are in model.pt."), warnings.catch_warnings():
        # The newer exporter needs another package; the older one warns at every call.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            whole,
            (example,),
            buffer,
            dynamo=False,
            input_names=[INPUT],
            output_names=["probabilities"],
            dynamic_axes={INPUT: {0: "n"}, "probabilities": {0: "n"}},
        )
    made = onnx.load_from_string(buffer.getvalue())
    known = {"schema": 1, "class_names": class_names, "height": height, "width": width}
    known |= {"channels": channels, "pixel_range": pixel_range}
    made.metadata_props.add(key=METADATA, value=json.dumps(known))
    return bytes(made.SerializeToString())
