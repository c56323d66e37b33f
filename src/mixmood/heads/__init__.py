"""Linear classifiers on frozen features, trained with few labels and a pool.

A head is `softmax(directions(features) @ weights + bias)`; `directions` are signed roots scaled to
length 1 (`heads.problem`). `fit_head` fits one of `HEADS` to all labelled rows. The three
classifiers are the same heads as scikit-learn estimators, imported when first used.
"""

from typing import TYPE_CHECKING, Any

from mixmood.heads.problem import LinearHead
from mixmood.heads.registry import HEADS, fit_head

if TYPE_CHECKING:
    from mixmood.heads.estimators import (
        MixMatchClassifier,
        PropagationClassifier,
        PseudoLabelClassifier,
    )

__all__ = [
    "HEADS",
    "LinearHead",
    "MixMatchClassifier",
    "PropagationClassifier",
    "PseudoLabelClassifier",
    "fit_head",
]


def __dir__() -> list[str]:
    """All public names, including those that are not imported yet."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import the estimators when they are first used: they need scikit-learn."""
    if name in __all__:
        from mixmood.heads import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'mixmood.heads' has no attribute {name!r}")
