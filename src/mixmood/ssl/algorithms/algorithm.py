"""What an algorithm is: its input at each update, its losses, the checks of its settings."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import ClassVar, Protocol

import numpy as np
from torch import Tensor, nn

from mixmood.core.errors import OptionError
from mixmood.core.options import check_kinds
from mixmood.numerics.checks import ranged, ranges_of
from mixmood.ssl.algorithms.losses import (
    Balanced,
    check_balanced,
    confident_guess_loss,
    soft_cross_entropy,
)
from mixmood.ssl.models.network import Network


@dataclass(frozen=True)
class Step:
    """The input of one update: the network, and functions that draw views of the images."""

    network: Network
    teacher: nn.Module | None
    targets: Tensor
    """One-hot labels of the labelled images, shape (n, classes)."""
    class_weights: Tensor
    """Class weights of the labelled loss, shape (classes,)."""
    pool_weights: Tensor
    """Class weights of the loss of the pool, shape (classes,)."""
    update: int
    """Counted from 0."""
    labelled: Callable[[], Tensor]
    """A weak view of each labelled image, standardised, shape (n, channels, height, width)."""
    unlabelled: Callable[[int], Tensor]
    """The given number of weak views of each unlabelled image: first the first view of all images,
    then the second; shape (views * n, channels, height, width)."""
    strong: Callable[[], Tensor]
    """A strong view of each unlabelled image."""
    rng: Callable[[str], np.random.Generator]
    """A generator for one purpose within this update."""


@dataclass(frozen=True)
class StepLoss:
    """The loss to minimise (`total`) and values to log; all tensors stay on the device."""

    total: Tensor
    labelled: Tensor
    unlabelled: Tensor | None = None
    guesses: Tensor | None = None
    """Probabilities guessed for the unlabelled images, shape (n, classes)."""
    is_kept: Tensor | None = None
    """Which unlabelled images passed the mask, shape (n,)."""
    is_sure: Tensor | None = None
    """Which guesses reached the threshold, shape (n,); None for algorithms without a threshold."""


class Algorithm(Protocol):
    """A semi-supervised algorithm: it computes the loss of a step. Its settings are its fields.

    Three settings are read by the loop where an algorithm has them: `balanced` (see
    `class_weights`), `ood_mask` and `unlabelled_ratio` (unlabelled images for each labelled one).
    """

    @property
    def name(self) -> str:
        """The name in the registry of algorithms."""

    @property
    def needs_pool(self) -> bool:
        """Whether it uses unlabelled images."""

    @property
    def teacher_decay(self) -> float:
        """The decay of the averaged model (teacher) that it learns from; 0 without a teacher."""

    def loss(self, step: Step) -> StepLoss:
        """The loss of an update."""


def unlabelled_ratio(algorithm: object) -> int:
    """How many unlabelled images an update uses for each labelled one."""
    return int(getattr(algorithm, "unlabelled_ratio", 1))


def ramp(update: int, length: int) -> float:
    """r(t) = min(1, t / length): the factor of the weight of the unlabelled loss.

    >>> [ramp(t, 4) for t in (0, 1, 4, 9)]
    [0.0, 0.25, 1.0, 1.0]
    """
    return min(1.0, update / length) if length > 0 else 1.0


class CheckedSettings:
    """Base class of the algorithms that learn from a pool; their settings are their fields."""

    name: ClassVar[str]
    needs_pool: ClassVar[bool] = True
    teacher_decay: float = 0.0
    balanced: Balanced
    """Which losses have class weights."""
    ood_mask: float | None
    """The confidence below which an image of the pool is left out; None for no mask."""

    def __post_init__(self) -> None:
        """Refuse settings of another type or outside their ranges."""
        check_kinds(self)
        check_balanced(self.balanced)
        for setting, (low, high) in ranges_of(self).items():
            value = getattr(self, setting)
            if value is not None and not low <= value <= high:
                limits = f"at least {low:g}" if high == inf else f"between {low:g} and {high:g}"
                raise OptionError(f"{setting} of {self.name} must be {limits}; got {value:g}.")

    def loss_of(
        self,
        step: Step,
        logits: Tensor,
        pool_logits: Tensor,
        guesses: Tensor,
        threshold: float | Tensor,
        weight: float,
    ) -> StepLoss:
        """Cross-entropy of labelled images plus `weight` times that of the sure guesses."""
        supervised = soft_cross_entropy(logits, step.targets, step.class_weights)
        unsupervised, is_sure, is_kept = confident_guess_loss(
            pool_logits, guesses, step.pool_weights, threshold=threshold, ood_mask=self.ood_mask
        )
        total = supervised + weight * unsupervised
        return StepLoss(total, supervised, unsupervised, guesses, is_kept, is_sure)


@dataclass(frozen=True)
class ConfidentGuesses(CheckedSettings):
    """Base class of the algorithms whose targets are the guesses of at least `threshold`."""

    gamma: float = ranged(1.0, 0)
    threshold: float = ranged(0.95, 0, 1)
    balanced: Balanced = "labelled"
    ood_mask: float | None = ranged(None, 0, 1)
