"""Every measure between two samples, with one group of rows after the other left out, quickly.

Most of the work is the same whichever group is left out: a value keeps its bin as long as the
range of the first sample stays, and a row its distance to another row for ever.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.measures.checks import check_pair
from mixmood.measures.grouped import Grouped
from mixmood.measures.histogram import Bins, Overflow, normalised
from mixmood.measures.left_out_cosine import left_out_cosine
from mixmood.measures.nearest import METRICS, pair_distances
from mixmood.measures.registry import BETWEEN_HISTOGRAMS, MEASURES, N_BINS


def left_out_distances(
    x: Grouped,
    others: Sequence[Grouped],
    n_groups: int,
    names: Sequence[str],
    overflow: Overflow = "count",
) -> NDArray[np.float64]:
    """Each measure from x to each other sample without each group, (names, others, groups).

    Equals `compare` on the rows that are left, entry by entry.
    """
    table = np.empty((len(names), len(others), n_groups))
    for other in others:
        check_pair(x.rows, other.rows)
    by_histogram = [name for name in names if name in BETWEEN_HISTOGRAMS]
    if "cosine" in by_histogram and overflow == "count":
        by_histogram.remove("cosine")
        table[names.index("cosine")] = left_out_cosine(x, others, n_groups, N_BINS)
    if by_histogram:
        binned = _Binned.all_of(x, others)
        for group in range(n_groups):
            first, *rest = _shares_without(group, binned, overflow)
            for name in by_histogram:
                between = [float(BETWEEN_HISTOGRAMS[name](first, shares)) for shares in rest]
                table[names.index(name), :, group] = between
    for row, name in enumerate(names):
        if name not in BETWEEN_HISTOGRAMS:
            for column, other in enumerate(others):
                table[row, column] = _one_by_one(x, other, n_groups, name)
    return table


def _one_by_one(x: Grouped, y: Grouped, n_groups: int, name: str) -> list[float]:
    """The distance without each group; nearest neighbours are looked up in one table of pairs."""
    kept = [(x.is_kept(group), y.is_kept(group)) for group in range(n_groups)]
    if name not in METRICS:
        return [MEASURES[name](x.rows[in_x], y.rows[in_y]) for in_x, in_y in kept]
    pairs = pair_distances(x.rows, y.rows, METRICS[name])
    return [float(pairs[in_x][:, in_y].min(axis=1).mean()) for in_x, in_y in kept]


@dataclass(frozen=True)
class _Binned:
    """A sample with the bins of its values over the range of the whole first sample."""

    sample: Grouped
    bins: Bins
    numbers: NDArray[np.intp]
    counts: NDArray[np.intp]

    @classmethod
    def all_of(cls, x: Grouped, others: Sequence[Grouped]) -> "list[_Binned]":
        bins = Bins.over(x.rows, N_BINS)
        binned = [(sample, bins.numbers(bins.positions(sample.rows))) for sample in (x, *others)]
        return [cls(sample, bins, numbers, bins.tally(numbers)) for sample, numbers in binned]

    def counts_of(self, is_kept: NDArray[np.bool_]) -> NDArray[np.intp]:
        """The counts of the rows that stay, by taking off those that go."""
        return self.counts - self.bins.tally(self.numbers[~is_kept])


def _shares_without(group: int, samples: Sequence[_Binned], overflow: Overflow) -> list[Array]:
    """The histograms of the first and the other samples without a group."""
    first = samples[0]
    kept = first.sample.rows[first.sample.is_kept(group)]
    low, high = kept.min(axis=0), kept.max(axis=0)
    moved = np.flatnonzero((low != first.bins.low) | (high != first.bins.high))
    bins = Bins.between(low[moved], high[moved], N_BINS)
    found = []
    for binned in samples:
        is_kept = binned.sample.is_kept(group)
        counts = binned.counts_of(is_kept)
        counts[moved] = bins.counts(binned.sample.rows[np.ix_(is_kept, moved)])
        found.append(normalised(counts, int(is_kept.sum()), overflow))
    return found
