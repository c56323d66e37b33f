"""Training on the labelled images only: the baseline."""

from dataclasses import dataclass
from typing import ClassVar

from mixmood.ssl.algorithms.algorithm import Step, StepLoss
from mixmood.ssl.algorithms.losses import (
    Balanced,
    check_balanced,
    soft_cross_entropy,
    weighted_mean_cross_entropy,
)


@dataclass(frozen=True)
class Supervised:
    """Cross-entropy on one weak view of each labelled image.

    With `weighted_mean` it is divided by the sum of the class weights; see `MixMatch`.
    """

    name: ClassVar[str] = "supervised"
    needs_pool: ClassVar[bool] = False
    teacher_decay: ClassVar[float] = 0.0

    balanced: Balanced = "labelled"
    weighted_mean: bool = False

    def __post_init__(self) -> None:
        """Refuse an unknown kind of class weights."""
        check_balanced(self.balanced)

    def loss(self, step: Step) -> StepLoss:
        """The loss of an update."""
        cross_entropy = weighted_mean_cross_entropy if self.weighted_mean else soft_cross_entropy
        logits = step.network.forward(step.labelled())
        labelled = cross_entropy(logits, step.targets, step.class_weights)
        return StepLoss(total=labelled, labelled=labelled)
