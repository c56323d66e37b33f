"""Which of the two losses the class weights multiply."""

from typing import Any, Literal, get_args

import torch
from torch import Tensor

from mixmood.core.suggest import unknown_name
from mixmood.ssl.algorithms.losses import balanced_weights

Balanced = Literal["labelled", "both", "none"]
"""`labelled` weights the labelled loss only, `both` that of the pool too (as the paper's code)."""

EARLIER: dict[object, Balanced] = {True: "both", False: "none", "true": "both", "false": "none"}
"""What the setting's values were called before there were three."""


def set_balanced(algorithm: Any, value: object) -> None:
    """Give an algorithm the setting under its present name; refuse unknown ones."""
    value = EARLIER.get(value, value)
    if value not in get_args(Balanced):
        raise unknown_name("value of balanced", str(value), get_args(Balanced))
    object.__setattr__(algorithm, "balanced", value)


def class_weights(balanced: object, counts: Tensor) -> tuple[Tensor, Tensor]:
    """The weights of the classes in the labelled loss and in that of the pool, shape (classes,).

    Weights inverse to the counts sum to 1. Where they multiply the labelled loss only, the pool's
    are equal and sum to 1 too, so that both losses keep their proportion; with equal counts
    `labelled` and `both` are the same.

    >>> class_weights("labelled", torch.tensor([30.0, 10.0]))
    (tensor([0.2500, 0.7500]), tensor([0.5000, 0.5000]))
    """
    kind = EARLIER.get(balanced, balanced)
    n_classes = len(counts)
    if kind == "none":
        return torch.ones(n_classes), torch.ones(n_classes)
    weights = balanced_weights(counts)
    return weights, weights if kind == "both" else torch.full((n_classes,), 1 / n_classes)
