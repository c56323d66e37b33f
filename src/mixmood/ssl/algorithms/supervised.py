"""Training on the labelled images only: the baseline."""

from dataclasses import dataclass
from typing import ClassVar

from mixmood.ssl.algorithms.algorithm import Algorithm, Step, StepLoss
from mixmood.ssl.algorithms.losses import Balanced, soft_cross_entropy, weighted_mean_cross_entropy


@dataclass(frozen=True)
class Supervised(Algorithm):
    """Cross-entropy on one weak view of each labelled image.

    With `weighted_mean` it is divided by the sum of the class weights; see `MixMatch`.
    """

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
