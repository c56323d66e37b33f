"""Cosine distances with one group of rows after the other left out, told by what goes.

The cosine of two histograms needs three inner products of their counts. When a few rows go, each
changes by the counts at the bins of those rows, and by the pairs of them that share a bin, so that
nothing is counted anew. Only a group that takes an end of the first sample's range with it moves
the bins of that feature.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Rows
from mixmood.measures.cosine import cosine_of_products
from mixmood.measures.grouped import Grouped
from mixmood.measures.histogram import Bins

Numbers = NDArray[np.floating[Any]]
"""Whole numbers, as floats for the sake of quick sums."""
MOST_IN_FLOAT32 = 2**24
"""Up to here single floats hold every whole number."""
AT_ONCE = 40_000
"""Values that are binned at once over moved ranges: few enough to stay in the cache."""
MOST_PAIRS = 64
"""Pairs of rows up to which comparing them one by one is quicker than counting them."""


def left_out_cosine(
    x: Grouped, others: Sequence[Grouped], n_groups: int, n_bins: int
) -> NDArray[np.float64]:
    """From x to each other sample without each group, shape (others, groups).

    Args:
        x: The first sample.
        others: The samples that it is compared with.
        n_groups: How many groups there are.
        n_bins: Equal bins over the range of x; two more take what is outside.
    """
    bins = Bins.over(x.rows, n_bins)
    most = max(len(sample.rows) for sample in (x, *others)) ** 2
    kind = np.float32 if most <= MOST_IN_FLOAT32 else np.float64
    first = _Sample.of(x, n_groups, bins, kind)
    moved = _MovedRanges.of(first, n_bins)
    first_moved = moved.counts(first)
    found = np.empty((len(others), n_groups))
    for place, sample in enumerate(others):
        other = _Sample.of(sample, n_groups, bins, kind)
        distances = cosine_of_products(_products(first, other), first.squares, other.squares)
        other_moved = moved.counts(other)
        distances[moved.groups, moved.features] = cosine_of_products(
            _dot(first_moved, other_moved),
            _dot(first_moved, first_moved),
            _dot(other_moved, other_moved),
        )
        found[place] = distances.sum(axis=1)
    return found


@dataclass(frozen=True)
class _Sample:
    """Rows in the order of their groups, and the bins of their values, both of shape (n, d)."""

    rows: Array
    groups: Rows
    positions: NDArray[np.unsignedinteger[Any]]
    """The bins of each feature numbered from 0."""
    numbers: NDArray[np.intp]
    """The same bins, those of all features numbered in one row."""
    counts: Numbers
    """Shape (d, bins)."""
    is_going: NDArray[np.bool_]
    """Whether a row goes with a group, shape (groups, n)."""

    @classmethod
    def of(
        cls, sample: Grouped, n_groups: int, bins: Bins, kind: type[np.floating[Any]]
    ) -> "_Sample":
        order = np.argsort(sample.groups, kind="stable")
        rows = sample.rows[order]
        positions = bins.positions(rows)
        numbers = bins.numbers(positions)
        is_going = ~np.array([sample.is_kept(group)[order] for group in range(n_groups)])
        counts = bins.tally(numbers).astype(kind)
        return cls(rows, sample.groups[order], positions, numbers, counts, is_going)

    @cached_property
    def squares(self) -> Numbers:
        """The squared length of each feature's counts without each group, (groups, d)."""
        square = _pairs(self, self) - 2 * self.shared(self.counts)
        square += _dot(self.counts, self.counts)
        return square

    @cached_property
    def parts(self) -> list[slice]:
        """Where the rows that go with each group are; nowhere if they do not."""
        sizes = np.count_nonzero(self.is_going, axis=1)
        starts = np.searchsorted(self.groups, np.arange(len(sizes)))
        return [slice(start, start + size) for start, size in zip(starts, sizes, strict=True)]

    def counts_in(self, part: slice) -> Numbers:
        """The counts of some rows, (d, bins)."""
        found = np.bincount(self.numbers[part].ravel(), minlength=self.counts.size)
        return found.reshape(self.counts.shape).astype(self.counts.dtype)

    def shared(self, counts: Numbers) -> Numbers:
        """The counts at the bins of the rows that go, summed, (groups, d)."""
        return self.is_going.astype(counts.dtype) @ counts.take(self.numbers)


def _products(x: _Sample, y: _Sample) -> Numbers:
    """The inner product of each feature's counts without each group, (groups, d)."""
    product = _pairs(x, y) - x.shared(y.counts) - y.shared(x.counts)
    product += _dot(x.counts, y.counts)
    return product


def _pairs(x: _Sample, y: _Sample) -> Numbers:
    """How many pairs of rows that go with a group share a bin, (groups, d)."""
    found = np.empty((len(x.parts), x.rows.shape[1]), x.counts.dtype)
    for group, (of_x, of_y) in enumerate(zip(x.parts, y.parts, strict=True)):
        if (of_x.stop - of_x.start) * (of_y.stop - of_y.start) > MOST_PAIRS:
            found[group] = _dot(x.counts_in(of_x), y.counts_in(of_y))
        else:
            is_same = x.positions[of_x, None] == y.positions[of_y]
            found[group] = is_same.sum(axis=(0, 1), dtype=found.dtype)
    return found


def _dot(p: Numbers, q: Numbers) -> Numbers:
    return np.asarray(np.einsum("db,db->d", p, q))


@dataclass(frozen=True)
class _MovedRanges:
    """The m pairs of group and feature where the range moves when the group goes."""

    groups: Rows
    features: Rows
    bins: Bins
    """Those over the range that is left, for each pair."""

    @classmethod
    def of(cls, first: _Sample, n_bins: int) -> "_MovedRanges":
        going = [group for group, part in enumerate(first.parts) if part.start < part.stop]
        d = first.rows.shape[1]
        lows = np.array([first.rows[first.parts[g]].min(axis=0) for g in going]).reshape(-1, d)
        highs = np.array([first.rows[first.parts[g]].max(axis=0) for g in going]).reshape(-1, d)
        low, high = _without_each(np.minimum, lows), _without_each(np.maximum, highs)
        is_moved = (low > lows) | (high < highs)
        places, features = np.nonzero(is_moved)
        bins = Bins.between(low[is_moved], high[is_moved], n_bins)
        return cls(np.array(going, np.intp)[places], features, bins)

    def counts(self, sample: _Sample) -> Numbers:
        """The counts of the rows that stay, in the bins over the moved ranges, (m, bins)."""
        found = np.empty((len(self.features), self.bins.width), sample.counts.dtype)
        columns = np.ascontiguousarray(sample.rows.T)
        n_few = max(AT_ONCE // len(sample.rows), 1)
        for start in range(0, len(found), n_few):
            few = slice(start, start + n_few)
            bins = self.bins.of_features(few)
            numbers = bins.numbers(bins.positions(columns[self.features[few]].T))
            n_numbers = found[few].size
            # One number more, for the rows that go.
            np.copyto(numbers.T, n_numbers, where=sample.is_going[self.groups[few]])
            counts = np.bincount(numbers.ravel(order="K"), minlength=n_numbers + 1)[:-1]
            found[few] = counts.reshape(-1, bins.width)
        return found


def _without_each(ufunc: np.ufunc, values: Array) -> Array:
    """The smallest or largest of all rows but each one, shape (k, d) for k >= 2 rows."""
    before, after = ufunc.accumulate(values), ufunc.accumulate(values[::-1])[::-1]
    inner = ufunc(before[:-2], after[2:])
    return np.concatenate([after[1:2], inner, before[-2:-1]])
