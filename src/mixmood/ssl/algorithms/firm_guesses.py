"""Learning from firm guesses alone: what FixMatch and pseudo-labels have in common."""

import torch
from torch import Tensor
from torch.nn import functional

from mixmood.ssl.algorithms.algorithm import kept_by
from mixmood.ssl.algorithms.losses import masked_mean, soft_cross_entropy_rows


def firm_guess_loss(
    logits: Tensor,
    guesses: Tensor,
    class_weights: Tensor,
    *,
    threshold: float,
    ood_mask: float | None,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Mean cross-entropy against the likeliest classes, which guesses are firm, which are kept.

    Images guessed with less confidence than `threshold`, or left out by the mask, add nothing but
    count in the mean.

    Args:
        logits: What is to be learnt, shape (n, classes).
        guesses: Probabilities that the likeliest classes are taken from, shape (n, classes).
        class_weights: Shape (classes,).
        threshold: The least confidence.
        ood_mask: The least confidence for an image to be kept; None to keep all.
    """
    targets = functional.one_hot(guesses.argmax(dim=1), guesses.shape[1]).float()
    rows = soft_cross_entropy_rows(logits, targets, class_weights)
    is_kept = kept_by(ood_mask, guesses)
    is_sure = guesses.amax(dim=1) >= threshold
    used = is_sure if is_kept is None else torch.logical_and(is_sure, is_kept)
    return masked_mean(rows, used), is_sure, is_kept
