"""FixMatch: firm guesses on weak views, learnt on strong ones."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch.nn import functional

from mixmood.ssl.algorithm import Step, StepLoss, check_range, kept_by
from mixmood.ssl.losses import masked_mean, soft_cross_entropy, soft_cross_entropy_rows


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
        targets = functional.one_hot(guesses.argmax(dim=1), guesses.shape[1]).float()
        rows = soft_cross_entropy_rows(strong_logits, targets, step.class_weights)
        is_kept = kept_by(self.ood_mask, guesses)
        is_sure = guesses.amax(dim=1) >= self.threshold
        used = is_sure if is_kept is None else torch.logical_and(is_sure, is_kept)
        unsupervised = masked_mean(rows, used)
        return StepLoss(
            supervised + self.gamma * unsupervised, supervised, unsupervised, guesses, is_kept
        )
