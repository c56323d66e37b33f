"""The checks of features that heads, measures and scores have in common."""

from dataclasses import field, fields
from typing import Any

import numpy as np

from mixmood.core.arrays import Array
from mixmood.core.errors import InputError, OptionError, ShapeError
from mixmood.core.text import counted


def checked_features(
    features: Array, what: str, width: int | None = None, fewest: int = 0
) -> Array:
    """The features as an array; refuse anything but an (n, d) array of finite numbers.

    In messages they are called `what`; there must be `width` features a row and `fewest` rows.
    """
    rows = np.asarray(features)
    if rows.ndim != 2 or rows.shape[1] == 0 or rows.dtype.kind not in "fiu":
        raise ShapeError(
            f"{what} must be an (n, d) array of numbers; got shape {rows.shape} of {rows.dtype}. "
            "Extract features first."
        )
    if width is not None and rows.shape[1] != width:
        raise ShapeError(
            f"{what} must have {width} features a row; got {rows.shape[1]}. Extract all features "
            "with the same backbone."
        )
    if len(rows) < fewest:
        raise InputError(f"{what} must have at least {counted(fewest, 'row')}; got {len(rows)}.")
    n_bad = int((~np.isfinite(rows).all(axis=1)).sum())
    if n_bad:
        raise ShapeError(
            f"{what} must be finite; got NaN or infinity in {n_bad} of {len(rows)} rows. Drop "
            "those rows first."
        )
    return rows


def check_setting(name: str, value: float, low: float, high: float = np.inf) -> None:
    """Refuse a setting outside its range."""
    if not low <= value <= high:
        limits = f"at least {low:g}" if high == np.inf else f"between {low:g} and {high:g}"
        raise OptionError(f"{name} must be {limits}; got {value:g}.")


def ranged(default: float | None, low: float, high: float = np.inf) -> Any:
    """A field of a dataclass with a default and the range of its values; see `check_ranges`."""
    return field(default=default, metadata={"range": (low, high)})


def check_ranges(settings: Any, of: str = "") -> None:
    """Refuse `ranged` fields of a dataclass outside of their ranges; `of` says whose they are."""
    for one in fields(settings):
        value = getattr(settings, one.name)
        if "range" in one.metadata and value is not None:
            check_setting(one.name + of, value, *one.metadata["range"])
