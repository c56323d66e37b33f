"""Checks of the features that scores are computed from."""

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Codes
from mixmood.core.errors import InputError, ShapeError


def checked_rows(features: Array, what: str, width: int | None = None) -> NDArray[np.float64]:
    """The features as float64; refuse anything but an (n, d) array of finite numbers.

    Args:
        features: Rows of numbers; there may be none.
        what: The name of the features in messages, such as "The pool".
        width: How many features a row must have; any number if None.
    """
    rows = np.asarray(features)
    if rows.ndim != 2 or rows.shape[1] == 0 or rows.dtype.kind not in "fiu":
        raise ShapeError(
            f"{what} must be an (n, d) array of numbers; got shape {rows.shape} of {rows.dtype}. "
            "Extract features first."
        )
    if width is not None and rows.shape[1] != width:
        raise ShapeError(
            f"{what} must have {width} features a row, as the labelled images have; got "
            f"{rows.shape[1]}. Extract both with the same backbone."
        )
    if not np.isfinite(rows).all():
        raise ShapeError(f"{what} must be finite; got NaN or infinite features. Drop those rows.")
    return rows.astype(np.float64, copy=False)


def checked_labelled(labelled: Array, labels: Codes | None) -> NDArray[np.float64]:
    """The labelled features as float64; refuse fewer than two rows and labels that do not fit."""
    rows = checked_rows(labelled, "The labelled images")
    if len(rows) < 2:
        raise InputError(
            f"A score needs 2 labelled images or more; got {len(rows)}. Label some more."
        )
    if labels is not None and np.shape(labels) != (len(rows),):
        raise ShapeError(
            f"There must be one label for each labelled image, {len(rows)} in all; got shape "
            f"{np.shape(labels)}."
        )
    return rows


def checked_pool(pool: Array, width: int) -> NDArray[np.float64]:
    """The pool's features as float64; refuse a pool without rows."""
    rows = checked_rows(pool, "The pool", width)
    if len(rows) == 0:
        raise InputError("The pool is empty: there is nothing to score. Name a pool with images.")
    return rows
