"""Histograms of all features at once, binned over the range of the first sample."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.core.errors import OptionError

N_BINS = 15  # bins over the range of the first sample, as in the paper's code

Overflow = Literal["count", "drop"]  # values outside the first sample's range


@dataclass(frozen=True)
class Bins:
    """Equal bins per feature: `low`, `high` and `per_unit` (bins per unit), each shape (d,)."""

    low: Array
    high: Array
    per_unit: Array
    n_bins: int

    @classmethod
    def over(cls, x: Array, n_bins: int) -> "Bins":
        """Bins over the range of each feature of x, shape (n, d)."""
        return cls.between(x.min(axis=0), x.max(axis=0), n_bins)

    @classmethod
    def between(cls, low: Array, high: Array, n_bins: int) -> "Bins":
        """Bins from the lowest to the highest value of each feature, both of shape (d,)."""
        if n_bins < 1:
            raise OptionError(f"bins must be at least 1; got {n_bins}.")
        low = low.astype(np.float64)
        with np.errstate(divide="ignore", over="ignore"):
            per_unit = n_bins / (high - low)
        # A constant feature has its value in one bin; other values are in the outer bins.
        return cls(low, high, np.where(np.isfinite(per_unit), per_unit, 0.0), n_bins)

    def shares(self, values: Array, overflow: Overflow) -> Array:
        """The normalised histogram of each feature, shape (d, n_bins + 2), outer bins at the ends.

        With "drop" these are 0, and a feature without a value in the range has zeros only.
        """
        return normalise(self.counts(values).astype(np.float64), len(values), overflow)

    def positions(self, values: Array) -> NDArray[np.unsignedinteger[Any]]:
        """The bin of every value, shape (n, d): 1 to n_bins, 0 below and n_bins + 1 above."""
        # In place on one float64 copy: new arrays of this size cost more than the arithmetic.
        position = values - self.low
        position *= self.per_unit
        np.clip(position, 0, self.n_bins - 1, out=position)
        found = position.astype(np.min_scalar_type(self.n_bins + 1))
        found += 1
        # Outer values are found by comparison: rounding must not put the maximum outside.
        np.copyto(found, 0, where=values < self.low)
        np.copyto(found, self.n_bins + 1, where=values > self.high)
        return found

    def numbers(self, values: Array) -> NDArray[np.intp]:
        """The bin of every value, numbered over all features, shape (n, d)."""
        return self.positions(values) + np.arange(len(self.low)) * (self.n_bins + 2)

    def counts(self, values: Array) -> NDArray[np.intp]:
        """How many values of each feature lie in each bin, shape (d, n_bins + 2)."""
        d, width = len(self.low), self.n_bins + 2
        return np.bincount(self.numbers(values).ravel(), minlength=d * width).reshape(d, width)


def normalise(counts: Array, n_rows: Array | int, overflow: Overflow) -> Array:
    """The counts, shape (..., d, bins), made into the shares of `Bins.shares` in place."""
    if overflow == "count":
        counts /= np.maximum(n_rows, 1)
    elif overflow == "drop":
        counts[..., [0, -1]] = 0
        counts /= np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    else:
        raise OptionError(f"overflow must be 'count' or 'drop'; got {overflow!r}.")
    return counts
