"""The losses of semi-supervised training and their class weights, as pure functions of tensors."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from mixmood.core.errors import ShapeError


def soft_cross_entropy(logits: Tensor, targets: Tensor, class_weights: Tensor) -> Tensor:
    """Mean over rows of -sum_c w_c y_c log p_c, with p the softmax of the logits (n, classes)."""
    return soft_cross_entropy_rows(logits, targets, class_weights).mean()


def soft_cross_entropy_rows(logits: Tensor, targets: Tensor, class_weights: Tensor) -> Tensor:
    """The summands of `soft_cross_entropy`, shape (n,)."""
    check_same_shape(logits, targets)
    return -(targets * functional.log_softmax(logits, dim=1)) @ class_weights


def weighted_mean_cross_entropy(logits: Tensor, targets: Tensor, class_weights: Tensor) -> Tensor:
    """`soft_cross_entropy` with the sum over rows divided by the sum of their class weights.

    For one-hot targets it is `torch.nn.CrossEntropyLoss(weight=...)`.
    """
    rows = soft_cross_entropy_rows(logits, targets, class_weights)
    return rows.sum() / (targets @ class_weights).sum()


def squared_error_rows(logits: Tensor, targets: Tensor, class_weights: Tensor) -> Tensor:
    """w_a mean_c (y_c - p_c)^2 for each row, shape (n,); a is the class of the largest target."""
    check_same_shape(logits, targets)
    squares = (targets - functional.softmax(logits, dim=1)).square().mean(dim=1)
    return class_weights[targets.argmax(dim=1)] * squares


def masked_mean(values: Tensor, is_kept: Tensor | None) -> Tensor:
    """The sum of the kept values divided by the number of all values.

    The weight of one image is then the same however many are dropped.

    >>> masked_mean(torch.tensor([1.0, 2.0, 3.0, 10.0]), torch.tensor([True, False, False, True]))
    tensor(2.7500)
    """
    if is_kept is None:
        return values.mean()
    check_same_shape(values, is_kept)
    return (values * is_kept).mean()


def kept_by(ood_mask: float | None, guesses: Tensor) -> Tensor | None:
    """Which images are guessed with at least this confidence, shape (n,); None without a mask."""
    return None if ood_mask is None else guesses.amax(dim=1) >= ood_mask


def sharpen(probabilities: Tensor, temperature: float) -> Tensor:
    """p_c^(1/T) / sum_c' p_c'^(1/T) for each row: T = 1 changes nothing, T -> 0 gives one-hot."""
    # In logarithms: a power of 1/T would underflow to 0/0 long before T reaches 0.
    tiny = torch.finfo(probabilities.dtype).tiny
    return functional.softmax(probabilities.clamp_min(tiny).log() / temperature, dim=1)


def aligned(guesses: Tensor, shares: Tensor) -> Tensor:
    """Guesses whose mean is moved towards the class shares; each row sums to 1.

    p_c * share_c / mean p_c, normalised: distribution alignment, from the guesses of one update.

    Source: Berthelot et al., "ReMixMatch", 2020.
    """
    moved = guesses * (shares / guesses.mean(dim=0).clamp_min(1e-6))
    return moved / moved.sum(dim=1, keepdim=True)


def check_same_shape(x: Tensor, y: Tensor) -> None:
    """Refuse two tensors that would be broadcast against each other silently."""
    if x.shape != y.shape:
        raise ShapeError(
            f"Values and their counterparts must have one shape; "
            f"got {tuple(x.shape)} and {tuple(y.shape)}. Give one counterpart for each value."
        )


Balanced = Literal["labelled", "both", "none"]  # losses with class weights; `both` as in the paper


def class_weights(balanced: str, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Class weights of the labelled loss and of the loss of the pool, both of shape (classes,).

    Balanced weights are inverse to the counts and sum to 1. With `labelled`, the weights of the
    pool are equal and sum to 1 too, so that the ratio of the losses stays the same. With equal
    counts `labelled` and `both` give the same weights.

    >>> class_weights("labelled", torch.tensor([30.0, 10.0]))
    (tensor([0.2500, 0.7500]), tensor([0.5000, 0.5000]))
    """
    n_classes = len(counts)
    if balanced == "none":
        return torch.ones(n_classes), torch.ones(n_classes)
    weights = (1.0 / counts) / (1.0 / counts).sum()
    return weights, weights if balanced == "both" else torch.full((n_classes,), 1 / n_classes)
