"""FixMatch: confident guesses on weak views are the targets of strong views."""

from dataclasses import dataclass
from typing import ClassVar

from mixmood.numerics.checks import ranged
from mixmood.ssl.algorithms.algorithm import ConfidentGuesses, Step, StepLoss
from mixmood.ssl.algorithms.losses import aligned


@dataclass(frozen=True)
class FixMatch(ConfidentGuesses):
    """Cross-entropy of strong views against the classes guessed on weak views.

    Guesses with a confidence below `threshold` are left out. An update uses `unlabelled_ratio`
    unlabelled images for each labelled one. With `alignment`, the guesses of an update are first
    moved towards the class shares of the labelled images (equal ones if `balanced` is `none`).

    Unlike in its paper, the ratio is 1 and not 7, there are no averaged weights (`ema`), classes
    are weighted (`balanced`), and a strong view has two of 12 changes and one grey square.

    Source: Sohn et al., "FixMatch", 2020.
    """

    name: ClassVar[str] = "fixmatch"

    unlabelled_ratio: int = ranged(1, 1)
    alignment: bool = False

    def loss(self, step: Step) -> StepLoss:
        """The loss of an update. Guesses take a pass of their own, without gradients."""
        guesses = step.network.guess(step.unlabelled(1))
        if self.alignment:
            # Balanced weights are inverse to the class counts.
            counts = 1 / step.class_weights
            guesses = aligned(guesses, counts / counts.sum())
        logits, strong_logits = step.network.parts([step.labelled(), step.strong()])
        return self.loss_of(step, logits, strong_logits, guesses, self.threshold, self.gamma)
