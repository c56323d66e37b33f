"""The check of a pair of samples, before it is measured."""

import numpy as np

from mixmood.core.arrays import Array
from mixmood.core.errors import ShapeError


def check_pair(x: Array, y: Array) -> None:
    """Refuse samples that are empty or not finite, or have different numbers of features."""
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1]:
        raise ShapeError(
            f"x and y must be (n, d) arrays with the same d; got shapes {x.shape} and {y.shape}. "
            "Extract both data sets with the same backbone."
        )
    if x.size == 0 or y.size == 0:
        raise ShapeError(
            f"x and y must hold at least one row and one feature; got shapes {x.shape} and "
            f"{y.shape}."
        )
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ShapeError(
            "x and y must be finite; got NaN or infinite features. Drop those rows first."
        )
