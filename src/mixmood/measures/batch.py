"""Measures between many pairs of samples of the same rows; common work is done once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Mask, Rows
from mixmood.measures.histogram import N_BINS, Bins, Overflow, normalised
from mixmood.measures.pairs import check_pair
from mixmood.measures.registry import MEASURES, Measure


@dataclass(frozen=True)
class Grouped:
    """A sample of shape (n, d), and the group of each of its rows, shape (n,), numbered from 0."""

    rows: Array
    groups: Rows

    def kept(self, n_groups: int, min_rows: int = 1) -> Mask:
        """For each group, which rows are not in it, shape (groups, n).

        All rows are kept if fewer than `min_rows` would be left.
        """
        kept: Mask = self.groups != np.arange(n_groups)[:, None]
        kept[np.count_nonzero(kept, axis=1) < min_rows] = True
        return kept


def left_out_distances(
    x: Grouped,
    others: Sequence[Grouped],
    n_groups: int,
    names: Sequence[str],
    overflow: Overflow = "count",
) -> NDArray[np.float64]:
    """Each measure from x to each other sample without each group, (names, others, groups).

    Each entry equals `compare` on the remaining rows.
    """
    for other in others:
        check_pair(x.rows, other.rows)
    measures = [MEASURES[name] for name in names]
    table = np.empty((len(names), len(others), n_groups))
    if any(measure.between_histograms for measure in measures):
        for group, shares in enumerate(_shares_without_each((x, *others), n_groups, overflow)):
            for row, measure in enumerate(measures):
                if between := measure.between_histograms:
                    table[row, :, group] = between(shares[0], shares[1:])
    for row, measure in enumerate(measures):
        if not measure.between_histograms:
            for column, other in enumerate(others):
                table[row, column] = _between_rows(x, other, n_groups, measure)
    return table


def _between_rows(x: Grouped, y: Grouped, n_groups: int, measure: Measure) -> Array:
    """The distance without each group, shape (groups,)."""
    in_x, in_y = (sample.kept(n_groups, measure.min_rows) for sample in (x, y))
    if measure.between_subsets is None:
        pairs = zip(in_x, in_y, strict=True)
        return np.array([measure(x.rows[kept_x], y.rows[kept_y]) for kept_x, kept_y in pairs])
    first = np.hstack([in_x, np.zeros_like(in_y)])
    second = np.hstack([np.zeros_like(in_x), in_y])
    return measure.between_subsets(np.concatenate([x.rows, y.rows]), first, second)


def _shares_without_each(
    samples: Sequence[Grouped], n_groups: int, overflow: Overflow
) -> Iterator[Array]:
    """The histograms of all samples without each group in turn, shape (samples, d, bins).

    The first sample sets the bins. The same array is filled again for the next group: new arrays
    of this size take longer than the arithmetic.
    """
    bins = Bins.over(samples[0].rows, N_BINS)
    narrowed = _Narrowed.of(samples[0], bins, n_groups)
    binned = [_Binned.of(sample, bins, narrowed, n_groups) for sample in samples]
    shares = np.empty((len(samples), len(bins.low), bins.width))
    for group in range(n_groups):
        own = slice(*np.searchsorted(narrowed.groups, [group, group + 1]))
        for found, one in zip(shares, binned, strict=True):
            left_out = ~one.kept[group]
            np.subtract(one.counts, bins.tally(one.numbers[left_out]), out=found)
            found[narrowed.features[own]] = one.narrowed_counts[own]
            normalised(found, len(left_out) - int(left_out.sum()), overflow, out=found)
        yield shares


@dataclass(frozen=True)
class _Narrowed:
    """The pairs of a group and a feature whose range is smaller without the group, and its bins.

    `groups`, in ascending order, and `features` have shape (pairs,). A feature is in at most two
    pairs: with the group of its lowest and with that of its highest value.
    """

    groups: Rows
    features: Rows
    bins: Bins

    @classmethod
    def of(cls, x: Grouped, whole: Bins, n_groups: int) -> "_Narrowed":
        left = [x.rows[kept] for kept in x.kept(n_groups)]
        low, high = (np.stack([bound(rows, axis=0) for rows in left]) for bound in (np.min, np.max))
        groups, features = pairs = np.nonzero((low != whole.low) | (high != whole.high))
        return cls(groups, features, Bins.between(low[pairs], high[pairs], whole.n_bins))


@dataclass(frozen=True)
class _Binned:
    """A sample with the bins of its values over the range of the whole first sample.

    `kept` says for each group which rows are not in it, shape (groups, n); `narrowed_counts` are
    the counts of these rows in the bins of each pair of `_Narrowed`, shape (pairs, bins).
    """

    kept: Mask
    numbers: NDArray[np.intp]
    counts: NDArray[np.intp]
    narrowed_counts: NDArray[np.intp]

    @classmethod
    def of(cls, sample: Grouped, bins: Bins, narrowed: _Narrowed, n_groups: int) -> "_Binned":
        kept, numbers = sample.kept(n_groups), bins.numbers(bins.positions(sample.rows))
        narrow = narrowed.bins
        places = narrow.numbers(narrow.positions(sample.rows[:, narrowed.features]))
        narrowed_counts = narrow.tally(places, kept[narrowed.groups].T)
        return cls(kept, numbers, bins.tally(numbers), narrowed_counts)


TAIL = 0.1
"""The share of all values at each end that goes into the outer bins."""
AT_ONCE = 64
"""Features counted in one matrix product: enough to be fast, few enough to stay in the cache."""


def partition_distances(
    rows: Array, is_first: NDArray[np.bool_], names: Sequence[str]
) -> NDArray[np.float64]:
    """Each measure from the first to the second side of each partition, (measures, partitions).

    The histograms span the middle of all rows, not the range of the first side. Both sides then
    have the same bins in every partition, and a few rows far away, which are in the outer bins,
    do not make the other bins wide.

    Args:
        rows: All feature vectors, shape (n, d).
        is_first: For each partition, which rows are on the first side, shape (partitions, n).
        names: Names of the measures.
    """
    measures = [MEASURES[name] for name in names]
    distances = np.zeros((len(names), len(is_first)))
    if any(measure.between_histograms for measure in measures):
        for p, q in _shares(rows, is_first):
            for row, measure in enumerate(measures):
                if between := measure.between_histograms:
                    distances[row] += between(p, q)
    for row, measure in enumerate(measures):
        if not measure.between_histograms:
            distances[row] = _between_sides(rows, is_first, measure)
    return distances


def _between_sides(rows: Array, is_first: NDArray[np.bool_], measure: Measure) -> Array:
    """The distance of each partition, shape (partitions,)."""
    if measure.between_subsets is None:
        return np.array([measure(rows[side], rows[~side]) for side in is_first])
    return measure.between_subsets(rows, is_first, ~is_first)


def _shares(rows: Array, is_first: NDArray[np.bool_]) -> Iterator[tuple[Array, Array]]:
    """Histograms of both sides for a few features at a time, shape (partitions, few, bins)."""
    n, d = rows.shape
    low, high = np.quantile(rows, [TAIL, 1 - TAIL], axis=0)
    positions = Bins.between(low, high, N_BINS).positions(rows)
    sides = is_first.astype(np.float32)
    sizes = sides.sum(axis=1)[:, None, None]
    width = N_BINS + 2
    for start in range(0, d, AT_ONCE):
        few = positions[:, start : start + AT_ONCE]
        # One column for each feature and bin: the histograms of a partition are its row of
        # `sides` times this matrix.
        one_hot = (few[:, :, None] == np.arange(width)).astype(np.float32).reshape(n, -1)
        shape = (len(sides), few.shape[1], width)
        first = (sides @ one_hot).reshape(shape)
        total = one_hot.sum(axis=0).reshape(shape[1:])
        yield first / sizes, (total - first) / (n - sizes)
