"""The lists that everything else is made of: inter and intra distances, draw by draw."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mixmood.core.arrays import Array, Rows
from mixmood.measures.histogram import Overflow
from mixmood.measures.table import compare


@dataclass(frozen=True)
class DrawnDistances:
    """`inter`, shape (measures, pools, draws), and `intra`, shape (measures, draws)."""

    inter: Array
    intra: Array

    @property
    def signed(self) -> Array:
        """Inter minus intra, shape (measures, pools, draws)."""
        return np.asarray(self.inter - self.intra[:, None, :])


def drawn_distances(
    labelled: Array,
    pools: Sequence[Array],
    labelled_rows: Rows,
    pool_rows: Sequence[Rows],
    names: Sequence[str],
    overflow: Overflow = "count",
) -> DrawnDistances:
    """Every measure over the same draws: labelled to each pool, and labelled to itself.

    All pools meet the same labelled sub-samples, so that their differences are not those of luck
    and a sub-sample is binned once.

    Args:
        labelled: Labelled features, shape (n, d).
        pools: Features of each pool, shape (n_k, d).
        labelled_rows: Rows of the two labelled sub-samples of each draw, shape (draws, 2, size).
        pool_rows: For each pool, the rows of each draw, shape (draws, size).
        names: Names of the measures.
        overflow: What becomes of values outside the first sample's range.
    """
    n_draws = len(labelled_rows)
    inter = np.empty((len(names), len(pools), n_draws))
    intra = np.empty((len(names), n_draws))
    for draw, (rows, other_rows) in enumerate(labelled_rows):
        others = [pool[pool_rows[k][draw]] for k, pool in enumerate(pools)]
        table = compare(labelled[rows], [labelled[other_rows], *others], names, overflow)
        intra[:, draw], inter[:, :, draw] = table[:, 0], table[:, 1:]
    return DrawnDistances(inter, intra)
