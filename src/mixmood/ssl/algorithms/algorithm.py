"""What an algorithm is given at each update, and what it gives back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from torch import Tensor, nn

from mixmood.ssl.loop.network import Network


@dataclass(frozen=True)
class Step:
    """One update: views of its images, drawn when asked for, and the network to train."""

    network: Network
    teacher: nn.Module | None
    targets: Tensor
    """One-hot labels of the labelled images, shape (n, classes)."""
    class_weights: Tensor
    """Of the labelled loss, shape (classes,)."""
    pool_weights: Tensor
    """Of the classes in the loss of the pool, shape (classes,)."""
    update: int
    """Counted from 0."""
    labelled: Callable[[], Tensor]
    """A weak view of each labelled image, standardised, shape (n, channels, height, width)."""
    unlabelled: Callable[[int], Tensor]
    """So many weak views of each unlabelled image, view by view, shape (views * n, ...)."""
    strong: Callable[[], Tensor]
    """A strong view of each unlabelled image."""
    rng: Callable[[str], np.random.Generator]
    """A generator for one purpose within this update."""


@dataclass(frozen=True)
class StepLoss:
    """What to minimise, and what to log; everything stays on the device."""

    total: Tensor
    labelled: Tensor
    unlabelled: Tensor | None = None
    guesses: Tensor | None = None
    """Probabilities guessed for the unlabelled images, shape (n, classes)."""
    is_kept: Tensor | None = None
    """Which unlabelled images passed the mask, shape (n,)."""
    is_sure: Tensor | None = None
    """Which guesses reached the threshold, shape (n,); None for algorithms without one."""


class Algorithm(Protocol):
    """A way to turn a step into a loss. Its settings are its fields.

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
        """The decay of the averaged model that it learns from; 0 if it needs none."""

    def loss(self, step: Step) -> StepLoss:
        """The loss of an update."""


def unlabelled_ratio(algorithm: object) -> int:
    """How many unlabelled images an update sees for each labelled one."""
    return int(getattr(algorithm, "unlabelled_ratio", 1))


def kept_by(ood_mask: float | None, guesses: Tensor) -> Tensor | None:
    """Which images are guessed with at least this confidence, shape (n,); None without a mask."""
    return None if ood_mask is None else guesses.amax(dim=1) >= ood_mask
