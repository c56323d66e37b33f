"""FixMatch: confident guesses on weak views are the targets of strong views."""

from dataclasses import dataclass
from typing import ClassVar

from mixmood.numerics.checks import ranged
from mixmood.ssl.algorithms.algorithm import ConfidentGuesses, Step, StepLoss


@dataclass(frozen=True)
class FixMatch(ConfidentGuesses):
    """Cross-entropy of strong views against the classes guessed on weak views.

    Guesses with a confidence below `threshold` are left out. An update uses `unlabelled_ratio`
    unlabelled images for each labelled one.

    Source: Sohn et al., "FixMatch", 2020.
    """

    name: ClassVar[str] = "fixmatch"

    unlabelled_ratio: int = ranged(1, 1)

    def loss(self, step: Step) -> StepLoss:
        """The loss of an update. Guesses take a pass of their own, without gradients."""
        guesses = step.network.guess(step.unlabelled(1))
        logits, strong_logits = step.network.parts([step.labelled(), step.strong()])
        return self.loss_of(step, logits, strong_logits, guesses, self.gamma)
