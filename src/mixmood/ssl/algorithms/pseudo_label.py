"""Pseudo-labels: the network's own confident guesses are used as labels."""

from dataclasses import dataclass
from typing import ClassVar

from mixmood.numerics.checks import ranged
from mixmood.ssl.algorithms.algorithm import ConfidentGuesses, Step, StepLoss, ramp


@dataclass(frozen=True)
class PseudoLabel(ConfidentGuesses):
    """Cross-entropy of the pool against the class that the network predicts.

    Guesses below `threshold` are left out; the pool's weight grows over `ramp_updates`. In its
    paper every guess counts, the weight rises to 3, and the network has dropout.

    Source: Lee, "Pseudo-Label", 2013; the threshold as in Sohn et al., "FixMatch", 2020.
    """

    name: ClassVar[str] = "pseudo-label"

    ramp_updates: int = ranged(3000, 0)

    def loss(self, step: Step) -> StepLoss:
        """The loss of an update, from one pass: its own probabilities are the guesses."""
        logits, pool_logits = step.network.parts([step.labelled(), step.unlabelled(1)])
        guesses = pool_logits.detach().softmax(dim=1)
        weight = self.gamma * ramp(step.update, self.ramp_updates)
        return self.loss_of(step, logits, pool_logits, guesses, self.threshold, weight)
