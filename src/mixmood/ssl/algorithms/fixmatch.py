"""FixMatch: confident guesses on weak views are the targets of strong views."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from mixmood.ssl.algorithms.algorithm import CheckedSettings, Ranges, Step, StepLoss
from mixmood.ssl.algorithms.losses import Balanced, confident_guess_loss, soft_cross_entropy


@dataclass(frozen=True)
class FixMatch(CheckedSettings):
    """Cross-entropy of strong views against the classes guessed on weak views.

    Guesses with a confidence below `threshold` are left out. An update uses `unlabelled_ratio`
    unlabelled images for each labelled one.

    Source: Sohn et al., "FixMatch", 2020.
    """

    name: ClassVar[str] = "fixmatch"
    ranges: ClassVar[Ranges] = {
        "gamma": (0, inf),
        "threshold": (0, 1),
        "unlabelled_ratio": (1, inf),
    }
    teacher_decay: ClassVar[float] = 0.0

    gamma: float = 1.0
    threshold: float = 0.95
    unlabelled_ratio: int = 1
    balanced: Balanced = "labelled"
    ood_mask: float | None = None

    def loss(self, step: Step) -> StepLoss:
        """The loss of an update. Guesses take a pass of their own, without gradients."""
        guesses = step.network.guess(step.unlabelled(1))
        logits, strong_logits = step.network.parts([step.labelled(), step.strong()])
        supervised = soft_cross_entropy(logits, step.targets, step.class_weights)
        unsupervised, is_sure, is_kept = confident_guess_loss(
            strong_logits,
            guesses,
            step.pool_weights,
            threshold=self.threshold,
            ood_mask=self.ood_mask,
        )
        total = supervised + self.gamma * unsupervised
        return StepLoss(total, supervised, unsupervised, guesses, is_kept, is_sure)
