"""The interface of algorithms: their input at each update, and the losses that they return."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from torch import Tensor, nn

from mixmood.ssl.loop.network import Network


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


def kept_by(ood_mask: float | None, guesses: Tensor) -> Tensor | None:
    """Which images are guessed with at least this confidence, shape (n,); None without a mask."""
    return None if ood_mask is None else guesses.amax(dim=1) >= ood_mask
