"""FixMatch: firm guesses on weak views, learnt on strong ones."""

from dataclasses import dataclass
from typing import ClassVar

from mixmood.ssl.algorithms.algorithm import Step, StepLoss, check_range
from mixmood.ssl.algorithms.class_weights import Balanced, set_balanced
from mixmood.ssl.algorithms.firm_guesses import firm_guess_loss
from mixmood.ssl.algorithms.losses import soft_cross_entropy


@dataclass(frozen=True)
class FixMatch:
    """Cross-entropy of strong views against the class guessed on the weak view, where it is firm.

    An update sees `unlabelled_ratio` unlabelled images for each labelled one.

    Source: Sohn et al., "FixMatch", 2020.
    """

    name: ClassVar[str] = "fixmatch"
    needs_pool: ClassVar[bool] = True
    teacher_decay: ClassVar[float] = 0.0

    gamma: float = 1.0
    threshold: float = 0.95
    unlabelled_ratio: int = 1
    balanced: Balanced = "labelled"
    ood_mask: float | None = None

    def __post_init__(self) -> None:
        """Refuse settings outside their ranges."""
        set_balanced(self, self.balanced)
        check_range(self.name, "gamma", self.gamma, 0)
        check_range(self.name, "threshold", self.threshold, 0, 1)
        check_range(self.name, "unlabelled_ratio", self.unlabelled_ratio, 1)
        check_range(self.name, "ood_mask", self.ood_mask, 0, 1)

    def loss(self, step: Step) -> StepLoss:
        """The loss of an update: weak views are guessed without gradients, the rest is one pass."""
        guesses = step.network.guess(step.unlabelled(1))
        logits, strong_logits = step.network.parts([step.labelled(), step.strong()])
        supervised = soft_cross_entropy(logits, step.targets, step.class_weights)
        unsupervised, is_sure, is_kept = firm_guess_loss(
            strong_logits,
            guesses,
            step.pool_weights,
            threshold=self.threshold,
            ood_mask=self.ood_mask,
        )
        total = supervised + self.gamma * unsupervised
        return StepLoss(total, supervised, unsupervised, guesses, is_kept, is_sure)
