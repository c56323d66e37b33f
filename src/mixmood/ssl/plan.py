"""The options of a training and of a prediction, each declared once."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from mixmood.core.errors import OptionError
from mixmood.core.options import (
    DEFAULT_BACKBONE,
    HEAD_ALGORITHMS,
    NETWORK_ALGORITHMS,
    check_kinds,
    option,
    option_texts,
)
from mixmood.features.plan import (
    BACKBONE_WORDS,
    ExtractionPlan,
    LoggedPlan,
    checked_view,
    labels_option,
    same_option,
)
from mixmood.jobs.local import checked_jobs

Setting = float | int | bool | str | None  # the value of one setting of an algorithm

SMALLEST_SIDE = 4
HEAD, AUTO, NETWORK = "head", "auto", "network"
HEAD_ONLY = tuple(name for name in HEAD_ALGORITHMS if name not in NETWORK_ALGORITHMS)
NETWORK_ONLY = tuple(name for name in NETWORK_ALGORITHMS if name not in HEAD_ALGORITHMS)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Options of training a network that the protocol of a test bed records."""

    model: str = option("wrn", "wrn-tiny, wrn-small, wrn-thin, wrn (the paper's), or wrn:blocks=2")
    epochs: int = option(50, "Passes over the pool (over the labelled images for supervised).")
    batch_size: int = option(16, "Labelled images per update, and as many unlabelled ones.")
    learning_rate: float = option(2e-4, "Peak of the one-cycle policy.")
    weight_decay: float = option(1e-4, "Decoupled weight decay.")
    augment: str = option("paper", "paper, flips, dihedral, flip-crop, crop or none.")
    ema: float = option(
        0.0, "Decay of a moving average of the weights, which is tested instead; 0 for none."
    )

    def __post_init__(self) -> None:
        """Refuse values that no run can have."""
        check_kinds(self)
        _check_count("epochs", self.epochs)
        _check_count("batch_size", self.batch_size)
        if self.learning_rate is not None and not 0 < self.learning_rate < math.inf:
            raise OptionError(f"learning_rate must be a number above 0; got {self.learning_rate}.")
        if not 0 <= self.weight_decay < math.inf:
            raise OptionError(f"weight_decay must be 0 or a number above; got {self.weight_decay}.")
        if not 0 <= self.ema < 1:
            raise OptionError(f"ema must be at least 0 and below 1; got {self.ema}.")


TUNING: dict[str, Any] = {
    "updates": 150,
    "epochs": 5,
    "learning_rate": 1e-4,
    "augment": "crop",
    "image_size": 96,
}
"""Defaults of the fine-tuned backbone where they differ from those of networks from scratch."""
LARGEST_TUNED = 160  # pixels a side at most: an update takes 2.8 times as long as at 96
RECIPE = frozenset(one.name for one in fields(Recipe))


def by_model(name: str, unit: str = "") -> Any:
    """The option of a recipe, whose default depends on the model."""
    shown = f"{getattr(Recipe, name)}; {DEFAULT_BACKBONE}: {TUNING[name]}{unit}"
    return same_option(Recipe, name, default=None, shown=shown)


@dataclass(frozen=True, kw_only=True)
class TrainingPlan(Recipe):
    """Everything that decides a training run except its images.

    From Python, `model` may also be a `torch.nn.Module`, `algorithm` an object with a `loss`, and
    `augment` an `Augment`. `epochs`, `learning_rate` and `augment` are None until `settled`, unless
    given: their defaults depend on the model.
    """

    model: Any = option(
        HEAD,
        "head (a classifier on the features of the backbone), efficientnet-lite0 (the backbone "
        "fine-tuned; torch; on CPUs the head is as good and takes seconds), or a network from "
        "scratch (torch): wrn-thin, wrn-small, wrn-tiny, wrn (the paper's), wrn:blocks=2,...",
    )
    algorithm: Any = option(
        AUTO,
        f"{', '.join(name for name in NETWORK_ALGORITHMS if name in HEAD_ALGORITHMS)}; "
        f"{', '.join(HEAD_ONLY)} (head); {', '.join(NETWORK_ONLY)} (networks); "
        "auto: pseudo-label with the pools that rank advises, else supervised (head); freematch "
        "(efficientnet-lite0); mixmatch (networks from scratch).",
    )
    backbone: str = option(
        DEFAULT_BACKBONE, f"Backbone whose features a head classifies: {BACKBONE_WORDS}.", only=HEAD
    )
    resolution: int | str = same_option(ExtractionPlan, "resolution", only=HEAD)
    depth: str = same_option(ExtractionPlan, "depth", only=HEAD)
    groups: str | None = option(
        None,
        "Images of one group stay in one fold: a column of the table, or a pattern on the path "
        "such as 'patient(\\d+)'.",
        only=HEAD,
    )
    pool_limit: int = option(
        3000,
        "Use at most this many pool images for a head, shared among the pools in proportion to "
        "their useful images, at least 200 of each.",
        only=HEAD,
    )
    epochs: int = by_model("epochs", " equal parts of its updates")
    learning_rate: float = by_model("learning_rate")
    augment: Any = by_model("augment")
    settings: Mapping[str, Setting] = field(default_factory=dict)  # that are not the defaults
    image_size: int | None = option(
        None,
        "Side of the square images in pixels.",
        shown="of the labelled images, at most 32; efficientnet-lite0: 96 or 160, as they choose",
        only=NETWORK,
    )
    test_share: float | None = option(
        None, "Without test images: share of each class to set aside.", shown="0.25", only=NETWORK
    )
    validation_share: float | None = option(
        None, "Share of each class to set aside for selecting the epoch.", only=NETWORK
    )
    updates: int | None = option(
        None,
        "Total number of updates, instead of passes; tested after each of `epochs` equal parts.",
        only=NETWORK,
    )
    device: str = option(
        "cpu",
        "Networks: cpu, cuda, cuda:1 or mps. Backbone of a head: auto, cpu, cuda, directml, "
        "coreml; of hf: models cuda or mps.",
    )
    precision: str = option(
        "auto", "auto, float32 or bfloat16; auto is bfloat16 on GPUs that support it.", only=NETWORK
    )
    threads: int | None = option(
        None,
        "Threads to compute with.",
        shown="head: all cores; networks: one if small, else all cores",
    )
    seed: int = option(0, "Decides everything random.")

    def __post_init__(self) -> None:
        """Refuse values that no run can have."""
        super().__post_init__()
        object.__setattr__(self, "resolution", checked_view(self.resolution, self.depth))
        for name in ("updates", "threads", "pool_limit"):
            _check_count(name, getattr(self, name))
        if self.image_size is not None and self.image_size < SMALLEST_SIDE:
            raise OptionError(
                f"The image size must be at least {SMALLEST_SIDE} pixels; got {self.image_size}."
            )
        for what in ("test", "validation"):
            share = getattr(self, f"{what}_share")
            if share is not None and not 0 < share < 1:
                raise OptionError(f"The {what} share must lie between 0 and 1; got {share:g}.")
        self._check_use()

    def settled(self, is_tuned: bool) -> Self:
        """The plan with the defaults of its kind of network for all options that were not given."""
        defaults: dict[str, Any] = {one.name: one.default for one in fields(Recipe)}
        defaults |= TUNING if is_tuned else {}
        return replace(self, **{k: v for k, v in defaults.items() if getattr(self, k) is None})

    @property
    def is_head(self) -> bool:
        """Whether a head is trained instead of a network."""
        return isinstance(self.model, str) and self.model == HEAD

    def _check_use(self) -> None:
        """Refuse options that the chosen model does not have."""
        other = NETWORK if self.is_head else HEAD
        texts = option_texts(type(self))
        for one in fields(self):
            default = {} if one.name == "settings" else one.default
            is_network = one.name in RECIPE or one.name == "settings"
            belongs = NETWORK if is_network else texts[one.name].only
            if one.name != "model" and belongs == other and getattr(self, one.name) != default:
                model_option = "--model wrn-thin" if self.is_head else "--model head"
                raise OptionError(
                    f"{one.name} is an option of {model_option}; the model is '{self.model}'. "
                    f"Leave it out, or give {model_option}."
                )


def _check_count(name: str, value: int | None) -> None:
    if value is not None and value < 1:
        raise OptionError(f"{name} must be at least 1; got {value}.")


@dataclass(frozen=True, kw_only=True)
class TrainingRunPlan(TrainingPlan):
    """A training, its test images and its files; `mixmood train` and `mixmood.train` share it."""

    out: str | Path | None = option(
        None, "Folder for the model, its record and its page.", is_required=True
    )
    test: Any = option(None, "Images with classes to test on.")
    labels: tuple[str, ...] = labels_option(only=HEAD)
    cache: str | Path | None = same_option(ExtractionPlan, "cache")
    resume: bool = option(
        False,
        "Go on from the checkpoint in --out (networks), or train again (head).",
        flag="--resume/--no-resume",
    )
    mlflow: str | None = same_option(LoggedPlan, "mlflow")

    def __post_init__(self) -> None:
        """Refuse an empty path, which would be the current folder, and two kinds of test images."""
        super().__post_init__()
        if self.out == "":
            raise OptionError("out is an empty path. Is a variable of the shell not set?")
        if self.test is not None and self.test_share is not None:
            raise OptionError("Give test images or a test share, not both.")

    @property
    def folder(self) -> Path | None:
        """The folder for results, if there is one."""
        return None if self.out is None else Path(self.out)


@dataclass(frozen=True, kw_only=True)
class PredictionPlan:
    """How images are classified; command line and Python share it."""

    jobs: int | None = same_option(ExtractionPlan, "jobs")
    device: str = same_option(ExtractionPlan, "device")

    def __post_init__(self) -> None:
        """Refuse values of another kind, and a number of threads below one."""
        check_kinds(self)
        checked_jobs(self.jobs)
