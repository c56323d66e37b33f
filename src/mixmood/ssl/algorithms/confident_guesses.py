"""The loss of confident guesses, which FixMatch and pseudo-labels share."""

import torch
from torch import Tensor
from torch.nn import functional

from mixmood.ssl.algorithms.algorithm import kept_by
from mixmood.ssl.algorithms.losses import masked_mean, soft_cross_entropy_rows


def confident_guess_loss(
    logits: Tensor,
    guesses: Tensor,
    class_weights: Tensor,
    *,
    threshold: float,
    ood_mask: float | None,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The mean cross-entropy against the guessed classes; which guesses are sure; which are kept.

    The guessed class of an image is its most probable one. Images guessed with less confidence
    than `threshold`, or left out by the mask, add 0 to the sum but count in the mean.

    Args:
        logits: Logits that are trained, shape (n, classes).
        guesses: Probabilities that give the guessed classes, shape (n, classes).
        class_weights: Shape (classes,).
        threshold: The least confidence of a sure guess.
        ood_mask: The least confidence for an image to be kept; None to keep all.
    """
    targets = functional.one_hot(guesses.argmax(dim=1), guesses.shape[1]).float()
    rows = soft_cross_entropy_rows(logits, targets, class_weights)
    is_kept = kept_by(ood_mask, guesses)
    is_sure = guesses.amax(dim=1) >= threshold
    used = is_sure if is_kept is None else torch.logical_and(is_sure, is_kept)
    return masked_mean(rows, used), is_sure, is_kept
