"""The rows that cross-fitted scores compare, with all inner products computed once."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Codes
from mixmood.scores.fitting.fit import Fit
from mixmood.scores.fitting.roots import roots

AT_CENTRE = 1e-6
"""A row that is nearer to the centre than this part of its length has no direction: its cosines
are 0. Copies of one image differ from their mean by rounding errors only, which a division by
their length would magnify."""


@dataclass(frozen=True)
class ComparedRows:
    """Roots of labelled and pool features, and their inner products.

    The useful share fits a score many times on parts of the same rows, each with the mean of its
    own pool as the centre. Cosines about any centre follow from the products of the rows, so that
    the products, which cost most of the time, are computed once.
    """

    rows: NDArray[np.float64]
    """Labelled rows first, shape (n + m, d)."""
    products: NDArray[np.float64]
    """Shape (n + m, n + m)."""
    n_labelled: int

    def part(self, labelled: NDArray[np.int64], pool: NDArray[np.int64]) -> "ComparedRows":
        """Some of the rows, by their indices: the labelled ones, and those of the pool."""
        chosen = np.concatenate([labelled, pool])
        products = self.products[np.ix_(chosen, chosen)]
        return ComparedRows(self.rows[chosen], products, len(labelled))

    @cached_property
    def centre(self) -> NDArray[np.float64]:
        """The mean of the pool's rows, shape (d,)."""
        return np.asarray(self.rows[self.n_labelled :].mean(axis=0))

    @cached_property
    def moved(self) -> NDArray[np.float64]:
        """Rows minus the centre, shape (n + m, d)."""
        return self.rows - self.centre

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """Lengths of the moved rows, shape (n + m,); infinite for a row at the centre."""
        lengths = np.sqrt(np.einsum("ij,ij->i", self.moved, self.moved))
        is_apart = lengths > AT_CENTRE * np.sqrt(np.diagonal(self.products))
        return np.where(is_apart, lengths, np.inf)

    @cached_property
    def cosines(self) -> NDArray[np.float64]:
        """Cosines between the moved rows, shape (n + m, n + m)."""
        means = self.products[:, self.n_labelled :].mean(axis=1)
        moved = self.products - means[:, None] - (means - means[self.n_labelled :].mean())
        return np.asarray(moved / self.lengths[:, None] / self.lengths)

    @cached_property
    def labelled_units(self) -> NDArray[np.float64]:
        """Labelled rows, moved and of length 1, shape (n, d)."""
        n = self.n_labelled
        return np.asarray(self.moved[:n] / self.lengths[:n, None])


def compared_rows(labelled: Array, pool: Array) -> ComparedRows:
    """The rows of labelled features, shape (n, d), and of a pool, shape (m, d)."""
    rows = roots(np.concatenate([labelled, pool]))
    return ComparedRows(rows, rows @ rows.T, len(labelled))


FitRows = Callable[[ComparedRows, Codes | None, Array | None], Fit]
"""A cross-fitted score from rows, labels or None, and the importance of labelled images or None."""
