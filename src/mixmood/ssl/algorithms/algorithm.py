"""What an algorithm is: its input, its losses, its checked settings; and the one without a pool."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, get_args

import numpy as np
from torch import Tensor, nn

from mixmood.core.options import check_kinds
from mixmood.core.text import check_name
from mixmood.numerics.checks import check_ranges
from mixmood.ssl.algorithms.losses import Balanced, soft_cross_entropy, weighted_mean_cross_entropy
from mixmood.ssl.models.network import Network


@dataclass(frozen=True)
class Step:
    """The input of one update: the network, and functions that draw views of the images."""

    network: Network
    teacher: nn.Module | None
    targets: Tensor  # one-hot labels of the labelled images, shape (n, classes)
    class_weights: Tensor  # of the labelled loss, shape (classes,)
    pool_weights: Tensor  # class weights of the loss of the pool, shape (classes,)
    update: int  # counted from 0
    labelled: Callable[[], Tensor]  # a weak view of each labelled image, standardised
    unlabelled: Callable[[int], Tensor]
    """The given number of weak views of each unlabelled image: first the first view of all images,
    then the second; shape (views * n, channels, height, width)."""
    strong: Callable[[], Tensor]  # a strong view of each unlabelled image
    rng: Callable[[str], np.random.Generator]  # for one purpose within this update


@dataclass(frozen=True)
class StepLoss:
    """The loss to minimise (`total`) and values to log; all tensors stay on the device."""

    total: Tensor
    labelled: Tensor
    unlabelled: Tensor | None = None
    guesses: Tensor | None = None  # probabilities of the unlabelled images, shape (n, classes)
    is_kept: Tensor | None = None  # which unlabelled images passed the mask, shape (n,)
    is_sure: Tensor | None = None  # which guesses reached the threshold, shape (n,); None without


class Algorithm:
    """Base class of the algorithms; their settings are their fields, checked when they are made.

    Three settings are read by the loop where an algorithm has them: `balanced` (see
    `class_weights`), `ood_mask` and `unlabelled_ratio` (unlabelled images for each labelled one).
    """

    name: ClassVar[str]
    needs_pool: ClassVar[bool] = True
    teacher_decay: float = 0.0  # of the averaged model (teacher) that it learns from; 0 without one
    balanced: Balanced  # which losses have class weights
    ood_mask: float | None  # the confidence below which an image of the pool is left out, if any

    def __post_init__(self) -> None:
        """Refuse settings of another type or outside their ranges."""
        check_kinds(self)
        check_name("value of balanced", str(self.balanced), get_args(Balanced))
        check_ranges(self, f" of {self.name}")

    def loss(self, step: Step) -> StepLoss:
        """The loss of an update."""
        raise NotImplementedError


@dataclass(frozen=True)
class Supervised(Algorithm):
    """Cross-entropy on one weak view of each labelled image; `weighted_mean` as in `MixMatch`."""

    name: ClassVar[str] = "supervised"
    needs_pool: ClassVar[bool] = False

    balanced: Balanced = "labelled"
    weighted_mean: bool = False

    def loss(self, step: Step) -> StepLoss:
        """The loss of an update."""
        logits = step.network.forward(step.labelled())
        cross_entropy = weighted_mean_cross_entropy if self.weighted_mean else soft_cross_entropy
        labelled = cross_entropy(logits, step.targets, step.class_weights)
        return StepLoss(total=labelled, labelled=labelled)


def unlabelled_ratio(algorithm: object) -> int:
    """How many unlabelled images an update uses for each labelled one."""
    return int(getattr(algorithm, "unlabelled_ratio", 1))


def ramp(update: int, length: int) -> float:
    """r(t) = min(1, t / length): the factor of the weight of the unlabelled loss.

    >>> [ramp(t, 4) for t in (0, 1, 4, 9)]
    [0.0, 0.25, 1.0, 1.0]
    """
    return min(1.0, update / length) if length > 0 else 1.0
