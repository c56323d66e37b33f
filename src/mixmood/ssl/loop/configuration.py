"""The configuration of a run in plain values, for its record and its checkpoints."""

import math
from collections.abc import Mapping
from dataclasses import Field, asdict, fields, is_dataclass
from typing import Any

from torch import nn

from mixmood.core.records.dotted import dotted
from mixmood.ssl.algorithms.algorithm import Algorithm
from mixmood.ssl.algorithms.class_weights import EARLIER
from mixmood.ssl.augmentation.weak import Augment
from mixmood.ssl.input.task import Task
from mixmood.ssl.loop.schedule import Length
from mixmood.ssl.models.registry import TunedSpec, WideResNetSpec
from mixmood.ssl.plan import TrainingPlan

LATER_SETTINGS = {"unlabelled_ratio": 1}
"""Settings that earlier versions did not write, and their values in these versions."""


def configuration_of(
    plan: TrainingPlan,
    length: Length,
    algorithm: Algorithm,
    model: WideResNetSpec | TunedSpec | nn.Module,
    weak: Augment,
    task: Task,
) -> dict[str, Any]:
    """Everything that decides the weights of a run."""
    return {
        "algorithm": algorithm.name,
        "settings": {found.name: getattr(algorithm, found.name) for found in _fields(algorithm)},
        "model": repr(model) if isinstance(model, nn.Module) else asdict(model),
        "epochs": math.ceil(length.n_updates / length.updates_per_epoch),
        "updates": length.n_updates,
        "batch_size": plan.batch_size,
        "learning_rate": plan.learning_rate,
        "augment": asdict(weak),
        "seed": plan.seed,
        "data": task.digest(),
        "weight_decay": plan.weight_decay,
        "ema": plan.ema,
        "precision": plan.precision,
    }


def differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Where two configurations differ, such as `settings.gamma (25.0 there, 10.0 here)`."""
    there, here = dict(dotted(_as_written_now(found))), dict(dotted(wanted))
    names = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    return [f"{name} ({there.get(name)} there, {here.get(name)} here)" for name in sorted(names)]


def _as_written_now(found: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration of any version in the form that the present version writes."""
    settings = dict(found.get("settings", {}))
    if isinstance(settings.get("balanced"), bool):
        settings["balanced"] = EARLIER[settings["balanced"]]
    if found.get("algorithm") == "fixmatch":
        settings = LATER_SETTINGS | settings
    return dict(found) | {"settings": settings}


def _fields(algorithm: object) -> tuple[Field[Any], ...]:
    return fields(algorithm) if is_dataclass(algorithm) else ()
