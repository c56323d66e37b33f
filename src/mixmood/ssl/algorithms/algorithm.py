"""What an algorithm is: its input at each update, its losses, the checks of its settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import ClassVar, Protocol

import numpy as np
from torch import Tensor, nn

from mixmood.core.errors import OptionError
from mixmood.core.options import check_kinds
from mixmood.ssl.algorithms.losses import Balanced, check_balanced
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


Ranges = Mapping[str, tuple[float, float]]
"""The least and the largest value of each setting."""


class CheckedSettings:
    """Base class of the algorithms that learn from a pool; their settings are their fields.

    Attributes:
        name: The name in the registry.
        ranges: The ranges of the settings that are numbers.
        balanced: Which losses have class weights.
        ood_mask: The confidence below which an image of the pool is left out; None for no mask. An
            algorithm need not have this setting.
    """

    name: ClassVar[str]
    needs_pool: ClassVar[bool] = True
    ranges: ClassVar[Ranges]
    balanced: Balanced
    ood_mask: float | None

    def __post_init__(self) -> None:
        """Refuse settings of another type or outside their ranges."""
        check_kinds(self)
        check_balanced(self.balanced)
        for setting, (low, high) in {**self.ranges, "ood_mask": (0, 1)}.items():
            value = getattr(self, setting, None)
            if value is not None and not low <= value <= high:
                limits = f"at least {low:g}" if high == inf else f"between {low:g} and {high:g}"
                raise OptionError(f"{setting} of {self.name} must be {limits}; got {value:g}.")
