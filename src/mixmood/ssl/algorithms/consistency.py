"""Algorithms with a squared error on the pool: MixMatch as the paper uses it, mean teachers."""

from dataclasses import dataclass
from typing import ClassVar, get_args

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from mixmood.core.errors import TrainingError
from mixmood.core.text import check_name
from mixmood.numerics.checks import ranged
from mixmood.ssl.algorithms.algorithm import Algorithm, Step, StepLoss, Supervised, ramp
from mixmood.ssl.algorithms.losses import (
    Balanced,
    kept_by,
    masked_mean,
    sharpen,
    soft_cross_entropy,
    squared_error_rows,
    weighted_mean_cross_entropy,
)
from mixmood.ssl.models.network import BatchNorm


@dataclass(frozen=True)
class MixMatch(Algorithm):
    """Guessed, sharpened labels for the pool; MixUp of labelled and unlabelled views; two losses.

    The labels are the network's own probabilities, averaged over `views` weak views and sharpened
    by `temperature`. Labelled and unlabelled views are mixed together with the share lambda' =
    max(lambda, 1 - lambda), where lambda is drawn from Beta(alpha, alpha). The loss is the
    cross-entropy of the mixed labelled views plus gamma * r(t) * the squared error of the mixed
    unlabelled ones. r grows from 0 to 1 over `ramp_updates`.

    Three settings do what the code that the paper's authors released does:

    - `hard_targets`: the target of a mixed labelled view is the class of its largest share.
    - `weighted_mean`: the labelled loss is divided by the sum of its class weights.
    - `squared_pool_weights`: the weight of an unlabelled view, that of the class of its largest
      share, is squared. With five equal weights of 1/5 and `weighted_mean` the pool then counts
      1/25 of gamma, and not gamma.

    Where the MixMOOD paper deviates from the MixMatch paper, it is followed: pool weight 25 instead
    of 75, no averaged weights (`ema`), one lambda a batch (`per_sample_lambda`), class weights
    (`balanced`), and a batch of 16 + 2 x 16 instead of 64 + 2 x 64.

    Source: Berthelot et al., "MixMatch", 2019.
    """

    name: ClassVar[str] = "mixmatch"

    views: int = ranged(2, 1)
    temperature: float = ranged(0.5, 1e-6)
    alpha: float = ranged(0.75, 1e-6)
    gamma: float = ranged(25.0, 0)
    ramp_updates: int = ranged(3000, 0)
    balanced: Balanced = "labelled"
    mixup: bool = True
    per_sample_lambda: bool = False
    batch_norm: BatchNorm = "joint"
    ood_mask: float | None = ranged(None, 0, 1)
    hard_targets: bool = False
    weighted_mean: bool = False
    squared_pool_weights: bool = False

    def __post_init__(self) -> None:
        """Refuse settings of another type or outside their ranges."""
        super().__post_init__()
        check_name("batch_norm", str(self.batch_norm), get_args(BatchNorm))

    def loss(self, step: Step) -> StepLoss:
        """The loss of an update."""
        if self.gamma == 0 and not self.mixup:
            # The pool would only change the batch statistics. Without it, this limit is equal to
            # supervised training.
            return Supervised(self.balanced, self.weighted_mean).loss(step)
        labelled, pool = step.labelled(), step.unlabelled(self.views)
        guesses = average_views(step.network.guess(pool), self.views)
        is_kept = kept_by(self.ood_mask, guesses)
        pool_targets = sharpen(guesses, self.temperature).repeat(self.views, 1)
        n_labelled = len(labelled)
        images, targets = torch.cat([labelled, pool]), torch.cat([step.targets, pool_targets])
        if self.mixup:
            may_mix = None if is_kept is None else may_be_mixed(n_labelled, is_kept, self.views)
            images, targets = self._mix(images, targets, step.rng("mixup"), may_mix)
        parts = [images[:n_labelled], images[n_labelled:]]
        logits, pool_logits = step.network.parts(parts, self.batch_norm)
        own_targets = targets[:n_labelled]
        if self.hard_targets:
            own_targets = functional.one_hot(own_targets.argmax(dim=1), targets.shape[1]).float()
        labelled_loss = weighted_mean_cross_entropy if self.weighted_mean else soft_cross_entropy
        supervised = labelled_loss(logits, own_targets, step.class_weights)
        weights = step.pool_weights.square() if self.squared_pool_weights else step.pool_weights
        rows = squared_error_rows(pool_logits, targets[n_labelled:], weights)
        kept_rows = None if is_kept is None else is_kept.repeat(self.views)
        unsupervised = masked_mean(rows, kept_rows)
        weight = self.gamma * ramp(step.update, self.ramp_updates)
        total = supervised + weight * unsupervised
        return StepLoss(total, supervised, unsupervised, guesses, is_kept)

    def _mix(
        self,
        images: Tensor,
        targets: Tensor,
        rng: np.random.Generator,
        may_mix: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        partners = torch.from_numpy(rng.permutation(len(images))).to(images.device)
        if may_mix is not None:
            partners = partners_within(partners, may_mix)
        shares = rng.beta(self.alpha, self.alpha, len(images) if self.per_sample_lambda else 1)
        share = torch.from_numpy(np.maximum(shares, 1 - shares).astype(np.float32))
        return mixed(images, targets, partners, share.to(images.device))


def average_views(probabilities: Tensor, views: int) -> Tensor:
    """The mean over views of the guesses for each image: (views * n, classes) to (n, classes)."""
    return probabilities.view(views, -1, probabilities.shape[1]).mean(dim=0)


def may_be_mixed(n_labelled: int, is_kept: Tensor, views: int) -> Tensor:
    """Which rows may be partners: the labelled ones and all views of the kept images."""
    return torch.cat([is_kept.new_ones(n_labelled), is_kept.repeat(views)])


def partners_within(partners: Tensor, may_mix: Tensor) -> Tensor:
    """The permutation `partners`, changed so that rows that may be mixed get each other.

    They do in the order of `partners`, as do the others. No value is copied from the device.

    >>> partners_within(torch.tensor([2, 3, 0, 1]), torch.tensor([True, True, False, True]))
    tensor([3, 0, 2, 1])
    """
    rows = torch.argsort((~may_mix).int(), stable=True)
    drawn = partners[torch.argsort((~may_mix[partners]).int(), stable=True)]
    return torch.empty_like(partners).index_copy_(0, rows, drawn)


def mixed(
    images: Tensor, targets: Tensor, partners: Tensor, share: Tensor
) -> tuple[Tensor, Tensor]:
    """share * own + (1 - share) * partner's, for images and targets; `share` is (n,) or (1,)."""
    by_image = share[:, None, None, None]
    return (
        torch.lerp(images[partners], images, by_image),
        torch.lerp(targets[partners], targets, share[:, None]),
    )


@dataclass(frozen=True)
class MeanTeacher(Algorithm):
    """Squared error between the predictions of the network and of its teacher on the pool.

    The two get different weak views. The teacher, a moving average of the network's weights, is the
    model that is tested. In its paper its decay rises to 0.999, the weight is 100 with a ramp of
    exp(-5 (1 - t)^2), and images get dropout and noise.

    Source: Tarvainen and Valpola, "Mean teachers are better role models", 2017.
    """

    name: ClassVar[str] = "mean-teacher"

    gamma: float = ranged(25.0, 0)
    teacher_decay: float = ranged(0.99, 1e-6, 1)
    ramp_updates: int = ranged(3000, 0)
    balanced: Balanced = "labelled"
    ood_mask: float | None = ranged(None, 0, 1)

    def loss(self, step: Step) -> StepLoss:
        """The loss of an update."""
        if step.teacher is None:
            raise TrainingError("mean-teacher needs a teacher; got none. Train it with `train`.")
        own_view, other_view = step.unlabelled(2).chunk(2)
        guesses = step.network.guess(other_view, step.teacher)
        logits, pool_logits = step.network.parts([step.labelled(), own_view])
        supervised = soft_cross_entropy(logits, step.targets, step.class_weights)
        is_kept = kept_by(self.ood_mask, guesses)
        rows = squared_error_rows(pool_logits, guesses, step.pool_weights)
        unsupervised = masked_mean(rows, is_kept)
        total = supervised + self.gamma * ramp(step.update, self.ramp_updates) * unsupervised
        return StepLoss(total, supervised, unsupervised, guesses, is_kept)
