"""FixMatch: firm guesses on weak views, learnt on strong ones."""

from dataclasses import dataclass
from typing import ClassVar

from mixmood.ssl.algorithms.algorithm import Step, StepLoss, check_range
from mixmood.ssl.algorithms.firm_guesses import firm_guess_loss
from mixmood.ssl.algorithms.losses import soft_cross_entropy


@dataclass(frozen=True)
class FixMatch:
    """Cross-entropy of strong views against the class guessed on the weak view, where it is firm.

    Source: Sohn et al., "FixMatch", 2020.
    """

    name: ClassVar[str] = "fixmatch"
    needs_pool: ClassVar[bool] = True
    teacher_decay: ClassVar[float] = 0.0

    gamma: float = 1.0
    threshold: float = 0.95
    balanced: bool = True
    ood_mask: float | None = None

    def __post_init__(self) -> None:
        """Refuse settings outside their ranges."""
        check_range(self.name, "gamma", self.gamma, 0)
        check_range(self.name, "threshold", self.threshold, 0, 1)
        check_range(self.name, "ood_mask", self.ood_mask, 0, 1)

    def loss(self, step: Step) -> StepLoss:
        """The loss of an update: weak views are guessed without gradients, the rest is one pass."""
        guesses = step.network.guess(step.unlabelled(1))
        logits, strong_logits = step.network.parts([step.labelled(), step.strong()])
        supervised = soft_cross_entropy(logits, step.targets, step.class_weights)
        unsupervised, is_kept = firm_guess_loss(
            strong_logits,
            guesses,
            step.class_weights,
            threshold=self.threshold,
            ood_mask=self.ood_mask,
        )
        return StepLoss(
            supervised + self.gamma * unsupervised, supervised, unsupervised, guesses, is_kept
        )
