"""Pseudo-labels: the network's own confident guesses are used as labels."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from mixmood.ssl.algorithms.algorithm import CheckedSettings, Ranges, Step, StepLoss, ramp
from mixmood.ssl.algorithms.losses import Balanced, confident_guess_loss, soft_cross_entropy


@dataclass(frozen=True)
class PseudoLabel(CheckedSettings):
    """Cross-entropy of the pool against the class that the network predicts.

    Guesses below `threshold` are left out; the pool's weight grows over `ramp_updates`.

    Source: Lee, "Pseudo-Label", 2013; the threshold as in Sohn et al., "FixMatch", 2020.
    """

    name: ClassVar[str] = "pseudo-label"
    ranges: ClassVar[Ranges] = {
        "gamma": (0, inf),
        "threshold": (0, 1),
        "ramp_updates": (0, inf),
    }
    teacher_decay: ClassVar[float] = 0.0

    gamma: float = 1.0
    threshold: float = 0.95
    ramp_updates: int = 3000
    balanced: Balanced = "labelled"
    ood_mask: float | None = None

    def loss(self, step: Step) -> StepLoss:
        """The loss of an update, from one pass: its own probabilities are the guesses."""
        logits, pool_logits = step.network.parts([step.labelled(), step.unlabelled(1)])
        supervised = soft_cross_entropy(logits, step.targets, step.class_weights)
        guesses = pool_logits.detach().softmax(dim=1)
        unsupervised, is_sure, is_kept = confident_guess_loss(
            pool_logits,
            guesses,
            step.pool_weights,
            threshold=self.threshold,
            ood_mask=self.ood_mask,
        )
        weight = self.gamma * ramp(step.update, self.ramp_updates)
        total = supervised + weight * unsupervised
        return StepLoss(total, supervised, unsupervised, guesses, is_kept, is_sure)
