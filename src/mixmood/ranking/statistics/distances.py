"""Inter and intra distances, draw by draw."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from mixmood.core.arrays import Array, Rows
from mixmood.measures.histogram import Overflow
from mixmood.measures.registry import compare


@dataclass(frozen=True)
class DrawnDistances:
    """`inter`, shape (measures, pools, draws), and `intra`, shape (measures, draws)."""

    inter: Array
    intra: Array

    @property
    def signed(self) -> Array:
        """Inter minus intra, shape (measures, pools, draws)."""
        return np.asarray(self.inter - self.intra[:, None, :])

    def first(self, n_draws: int) -> "DrawnDistances":
        """The distances of the first draws."""
        return DrawnDistances(self.inter[..., :n_draws], self.intra[..., :n_draws])


def drawn_distances(
    labelled: Array,
    pools: Sequence[Array],
    labelled_rows: Rows,
    pool_rows: Sequence[Rows],
    names: Sequence[str],
    overflow: Overflow = "count",
    jobs: int = 1,
) -> DrawnDistances:
    """Every measure over the same draws: labelled to each pool, and labelled to itself.

    All pools are compared with the same labelled sub-samples, so that the choice of these does
    not add to the differences between pools, and each sub-sample is binned once.

    Args:
        labelled: Labelled features, shape (n, d).
        pools: Features of each pool, shape (n_k, d).
        labelled_rows: Rows of the two labelled sub-samples of each draw, shape (draws, 2, size).
        pool_rows: For each pool, the rows of each draw, shape (draws, size).
        names: Names of the measures.
        overflow: How values are counted that lie outside the first sample's range.
        jobs: Threads; they change only the time.
    """

    def table(draw: int) -> Array:
        rows, other_rows = labelled_rows[draw]
        others = [pool[pool_rows[k][draw]] for k, pool in enumerate(pools)]
        return compare(labelled[rows], [labelled[other_rows], *others], names, overflow)

    with ThreadPoolExecutor(jobs) as threads:
        tables = np.stack(list(threads.map(table, range(len(labelled_rows)))), axis=-1)
    return DrawnDistances(inter=tables[:, 1:], intra=tables[:, 0])
