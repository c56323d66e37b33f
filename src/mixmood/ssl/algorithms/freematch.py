"""FreeMatch: as FixMatch, with thresholds that follow the confidence of the guesses."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from mixmood.numerics.checks import ranged
from mixmood.ssl.algorithms.algorithm import CheckedSettings, Step, StepLoss
from mixmood.ssl.algorithms.losses import Balanced


@dataclass(frozen=True)
class FreeMatch(CheckedSettings):
    """Cross-entropy of strong views against guesses that are sure for their class.

    The threshold of a class is the mean confidence of the guesses, times the mean probability of
    the class divided by that of the commonest class: it is low at the beginning, and lower for
    classes that are guessed rarely. Unlike in its paper, the means are those of the update and not
    moving averages, so that a run can be continued exactly, and the fairness loss is left out. An
    update uses `unlabelled_ratio` unlabelled images for each labelled one.

    Source: Wang et al., "FreeMatch", 2023.
    """

    name: ClassVar[str] = "freematch"

    gamma: float = ranged(1.0, 0)
    balanced: Balanced = "labelled"
    ood_mask: float | None = ranged(None, 0, 1)
    unlabelled_ratio: int = ranged(2, 1)

    def loss(self, step: Step) -> StepLoss:
        """The loss of an update. Guesses take a pass of their own, without gradients."""
        guesses = step.network.guess(step.unlabelled(1))
        logits, strong_logits = step.network.parts([step.labelled(), step.strong()])
        thresholds = adaptive_thresholds(guesses)
        return self.loss_of(step, logits, strong_logits, guesses, thresholds, self.gamma)


def adaptive_thresholds(guesses: Tensor) -> Tensor:
    """The threshold of each guess, by its class, shape (n,)."""
    of_classes = guesses.mean(dim=0)
    scaled = guesses.amax(dim=1).mean() * of_classes / of_classes.amax()
    return scaled[guesses.argmax(dim=1)]
