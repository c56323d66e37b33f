"""The losses of semi-supervised training, as pure functions of tensors."""

import torch
from torch import Tensor
from torch.nn import functional

from mixmood.core.errors import ShapeError


def balanced_weights(counts: Tensor) -> Tensor:
    """A weight for each class, inversely proportional to its count; the weights sum to 1.

    >>> balanced_weights(torch.tensor([30.0, 10.0]))
    tensor([0.2500, 0.7500])
    """
    inverse = 1.0 / counts
    return inverse / inverse.sum()


def soft_cross_entropy(logits: Tensor, targets: Tensor, class_weights: Tensor) -> Tensor:
    """Mean over rows of -sum_c w_c y_c log p_c, with p the softmax of the logits.

    Args:
        logits: Shape (n, classes).
        targets: Soft labels, shape (n, classes).
        class_weights: Shape (classes,); ones give the plain cross-entropy.
    """
    return soft_cross_entropy_rows(logits, targets, class_weights).mean()


def soft_cross_entropy_rows(logits: Tensor, targets: Tensor, class_weights: Tensor) -> Tensor:
    """The summands of `soft_cross_entropy`, shape (n,)."""
    check_same_shape(logits, targets)
    return -(targets * functional.log_softmax(logits, dim=1)) @ class_weights


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


def sharpen(probabilities: Tensor, temperature: float) -> Tensor:
    """p_c^(1/T) / sum_c' p_c'^(1/T) for each row: T = 1 changes nothing, T -> 0 gives one-hot."""
    # In logarithms: a power of 1/T would underflow to 0/0 long before T reaches 0.
    tiny = torch.finfo(probabilities.dtype).tiny
    return functional.softmax(probabilities.clamp_min(tiny).log() / temperature, dim=1)


def check_same_shape(x: Tensor, y: Tensor) -> None:
    """Refuse two tensors that would be broadcast against each other silently."""
    if x.shape != y.shape:
        raise ShapeError(
            f"Values and their counterparts must have one shape; "
            f"got {tuple(x.shape)} and {tuple(y.shape)}. Give one counterpart for each value."
        )
