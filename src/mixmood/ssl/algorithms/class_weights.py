"""Class weights of the labelled loss and of the loss of the pool."""

from typing import Any, Literal, get_args

import torch
from torch import Tensor

from mixmood.core.suggest import unknown_name
from mixmood.ssl.algorithms.losses import balanced_weights

Balanced = Literal["labelled", "both", "none"]
"""The losses with class weights: the labelled one, both (as in the paper's code), or none."""

EARLIER: dict[object, Balanced] = {True: "both", False: "none", "true": "both", "false": "none"}
"""Values of the setting in earlier versions, and their present names."""


def set_balanced(algorithm: Any, value: object) -> None:
    """Set `balanced` of an algorithm to the present name of the value; refuse unknown values."""
    value = EARLIER.get(value, value)
    if value not in get_args(Balanced):
        raise unknown_name("value of balanced", str(value), get_args(Balanced))
    object.__setattr__(algorithm, "balanced", value)


def class_weights(balanced: object, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Class weights of the labelled loss and of the loss of the pool, both of shape (classes,).

    Balanced weights are inverse to the counts and sum to 1. With `labelled`, the weights of the
    pool are equal and sum to 1 too, so that the ratio of the losses stays the same. With equal
    counts `labelled` and `both` give the same weights.

    >>> class_weights("labelled", torch.tensor([30.0, 10.0]))
    (tensor([0.2500, 0.7500]), tensor([0.5000, 0.5000]))
    """
    kind = EARLIER.get(balanced, balanced)
    n_classes = len(counts)
    if kind == "none":
        return torch.ones(n_classes), torch.ones(n_classes)
    weights = balanced_weights(counts)
    return weights, weights if kind == "both" else torch.full((n_classes,), 1 / n_classes)
