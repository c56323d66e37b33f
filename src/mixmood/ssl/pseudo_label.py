"""Pseudo-labels: the network's own firm guesses, taken as truth."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch.nn import functional

from mixmood.ssl.algorithm import Step, StepLoss, check_range, kept_by
from mixmood.ssl.losses import masked_mean, soft_cross_entropy, soft_cross_entropy_rows
from mixmood.ssl.schedule import ramp


@dataclass(frozen=True)
class PseudoLabel:
    """Cross-entropy of the pool against the class that the network thinks most likely.

    Guesses below `threshold` are left out; the pool's weight grows over `ramp_updates`.

    Source: Lee, "Pseudo-Label", 2013; the threshold as in Sohn et al., "FixMatch", 2020.
    """

    name: ClassVar[str] = "pseudo-label"
    needs_pool: ClassVar[bool] = True
    teacher_decay: ClassVar[float] = 0.0

    gamma: float = 1.0
    threshold: float = 0.95
    ramp_updates: int = 3000
    balanced: bool = True
    ood_mask: float | None = None

    def __post_init__(self) -> None:
        """Refuse settings outside their ranges."""
        check_range(self.name, "gamma", self.gamma, 0)
        check_range(self.name, "threshold", self.threshold, 0, 1)
        check_range(self.name, "ramp_updates", self.ramp_updates, 0)
        check_range(self.name, "ood_mask", self.ood_mask, 0, 1)

    def loss(self, step: Step) -> StepLoss:
        """The loss of an update, from one pass: guesses are the pass's own probabilities."""
        logits, pool_logits = step.network.parts([step.labelled(), step.unlabelled(1)])
        supervised = soft_cross_entropy(logits, step.targets, step.class_weights)
        guesses = pool_logits.detach().softmax(dim=1)
        targets = functional.one_hot(guesses.argmax(dim=1), guesses.shape[1]).float()
        rows = soft_cross_entropy_rows(pool_logits, targets, step.class_weights)
        is_kept = kept_by(self.ood_mask, guesses)
        is_sure = guesses.amax(dim=1) >= self.threshold
        used = is_sure if is_kept is None else torch.logical_and(is_sure, is_kept)
        unsupervised = masked_mean(rows, used)
        weight = self.gamma * ramp(step.update, self.ramp_updates)
        return StepLoss(
            supervised + weight * unsupervised, supervised, unsupervised, guesses, is_kept
        )
