"""Algorithms whose targets are confident guesses: pseudo-labels, FixMatch and FreeMatch."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from torch.nn import functional

from mixmood.numerics.checks import ranged
from mixmood.ssl.algorithms.algorithm import Algorithm, Step, StepLoss, ramp
from mixmood.ssl.algorithms.losses import (
    Balanced,
    aligned,
    kept_by,
    masked_mean,
    soft_cross_entropy,
    soft_cross_entropy_rows,
)


class ConfidentGuesses(Algorithm):
    """Cross-entropy of the pool against the most probable class of each sure guess."""

    def loss_of(
        self,
        step: Step,
        logits: Tensor,
        pool_logits: Tensor,
        guesses: Tensor,
        threshold: float | Tensor,
        weight: float,
    ) -> StepLoss:
        """The cross-entropy of labelled images plus `weight` times that of the sure guesses.

        Images guessed with less confidence than `threshold` (one for all, or one for each), or left
        out by the mask, add 0 to the sum but count in the mean.
        """
        supervised = soft_cross_entropy(logits, step.targets, step.class_weights)
        targets = functional.one_hot(guesses.argmax(dim=1), guesses.shape[1]).float()
        rows = soft_cross_entropy_rows(pool_logits, targets, step.pool_weights)
        is_kept = kept_by(self.ood_mask, guesses)
        is_sure = guesses.amax(dim=1) >= threshold
        unsupervised = masked_mean(rows, is_sure if is_kept is None else is_sure & is_kept)
        total = supervised + weight * unsupervised
        return StepLoss(total, supervised, unsupervised, guesses, is_kept, is_sure)


@dataclass(frozen=True)
class PseudoLabel(ConfidentGuesses):
    """Cross-entropy of the pool against the class that the network predicts.

    Guesses below `threshold` are left out; the pool's weight grows over `ramp_updates`. In its
    paper every guess counts, the weight rises to 3, and the network has dropout.

    Source: Lee, "Pseudo-Label", 2013; the threshold as in Sohn et al., "FixMatch", 2020.
    """

    name: ClassVar[str] = "pseudo-label"

    gamma: float = ranged(1.0, 0)
    threshold: float = ranged(0.95, 0, 1)
    balanced: Balanced = "labelled"
    ood_mask: float | None = ranged(None, 0, 1)
    ramp_updates: int = ranged(3000, 0)

    def loss(self, step: Step) -> StepLoss:
        """The loss of an update, from one pass: its own probabilities are the guesses."""
        logits, pool_logits = step.network.parts([step.labelled(), step.unlabelled(1)])
        guesses = pool_logits.detach().softmax(dim=1)
        weight = self.gamma * ramp(step.update, self.ramp_updates)
        return self.loss_of(step, logits, pool_logits, guesses, self.threshold, weight)


@dataclass(frozen=True)
class FixMatch(ConfidentGuesses):
    """Cross-entropy of strong views against the classes guessed on weak views.

    With `alignment`, the guesses of an update are first moved towards the class shares of the
    labelled images (equal ones if `balanced` is `none`). Unlike in its paper, there is one
    unlabelled image for each labelled one and not 7, there are no averaged weights (`ema`), classes
    are weighted (`balanced`), and a strong view has two of 12 changes and one grey square.

    Source: Sohn et al., "FixMatch", 2020.
    """

    name: ClassVar[str] = "fixmatch"

    gamma: float = ranged(1.0, 0)
    threshold: float = ranged(0.95, 0, 1)
    balanced: Balanced = "labelled"
    ood_mask: float | None = ranged(None, 0, 1)
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


@dataclass(frozen=True)
class FreeMatch(ConfidentGuesses):
    """Cross-entropy of strong views against guesses that are sure for their class.

    The threshold of a class is the mean confidence of the guesses, times the mean probability of
    the class divided by that of the commonest class. Unlike in its paper, the means are those of
    the update, so that a run can be continued exactly, and the fairness loss is left out.

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
