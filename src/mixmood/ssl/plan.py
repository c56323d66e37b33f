"""What a training run is asked for: every option, declared once."""

# ruff: noqa: RUF009 - `option` makes a dataclass field

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mixmood.core.errors import OptionError
from mixmood.core.plans import check_kinds, option

Setting = float | int | bool | str | None
"""The value of one setting of an algorithm."""

SMALLEST_SIDE = 4


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a network is trained, whatever the images, the algorithm and the seed are.

    The test bed writes these, and nothing else of a plan, into its protocol.
    """

    model: str = option("wrn", "wrn-tiny, wrn-small, wrn-thin, wrn (the paper's), or wrn:blocks=2")
    epochs: int = option(50, "Passes over the pool (over the labelled images for supervised).")
    batch_size: int = option(16, "Labelled images per update, and as many unlabelled ones.")
    learning_rate: float = option(2e-4, "Peak of the one-cycle policy.")
    weight_decay: float = option(1e-4, "Decoupled weight decay.")
    augment: str = option("paper", "paper, flips, flip-crop, crop or none.")
    ema: float = option(0.0, "Decay of averaged weights to test in place of the last; 0 for none.")

    def __post_init__(self) -> None:
        """Refuse values that no run can have."""
        check_kinds(self)
        _check_count("epochs", self.epochs)
        _check_count("batch_size", self.batch_size)
        if not 0 < self.learning_rate < math.inf:
            raise OptionError(f"learning_rate must be a number above 0; got {self.learning_rate}.")
        if not 0 <= self.weight_decay < math.inf:
            raise OptionError(f"weight_decay must be 0 or a number above; got {self.weight_decay}.")
        if not 0 <= self.ema < 1:
            raise OptionError(f"ema must be at least 0 and below 1; got {self.ema}.")


@dataclass(frozen=True, kw_only=True)
class TrainingPlan(Recipe):
    """All that decides a training run but its images.

    `mixmood train`, `mixmood.train`, the test bed and the training loop share it. From Python,
    `model` may also be a `torch.nn.Module`, `algorithm` an object with a `loss`, and `augment` an
    `Augment`.
    """

    model: Any = option(
        "wrn-thin",
        "wrn-thin, wrn-small, wrn-tiny, wrn (the paper's), or wrn:blocks=2,...",
        kind=str,
    )
    algorithm: Any = option(
        "mixmatch", "supervised, mixmatch, pseudo-label, fixmatch or mean-teacher.", kind=str
    )
    augment: Any = option("paper", "paper, flips, flip-crop, crop or none.", kind=str)
    settings: Mapping[str, Setting] = field(default_factory=dict)
    """Settings of the algorithm that differ from its defaults."""
    image_size: int | None = option(
        None, "Side of the square images in pixels.", shown="of the labelled images, at most 32"
    )
    test_share: float | None = option(
        None, "Without test images: share of each class to set aside.", shown="0.25"
    )
    validation_share: float | None = option(None, "Share of each class to select the epoch by.")
    updates: int | None = option(None, "Updates in all, in place of passes; tested epochs times.")
    device: str = option("cpu", "cpu, cuda, cuda:1 or mps.")
    precision: str = option("auto", "auto, float32 or bfloat16; auto is bfloat16 on GPUs for it.")
    threads: int | None = option(
        None, "Threads that torch computes with.", shown="the faster of one and all, measured"
    )
    seed: int = option(0, "Decides everything random.")

    def __post_init__(self) -> None:
        """Refuse values that no run can have."""
        super().__post_init__()
        _check_count("updates", self.updates)
        _check_count("threads", self.threads)
        if self.image_size is not None and self.image_size < SMALLEST_SIDE:
            raise OptionError(
                f"The image size must be at least {SMALLEST_SIDE} pixels; got {self.image_size}."
            )
        for what in ("test", "validation"):
            share = getattr(self, f"{what}_share")
            if share is not None and not 0 < share < 1:
                raise OptionError(f"The {what} share must lie between 0 and 1; got {share:g}.")


def _check_count(name: str, value: int | None) -> None:
    if value is not None and value < 1:
        raise OptionError(f"{name} must be at least 1; got {value}.")
