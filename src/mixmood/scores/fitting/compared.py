"""Labelled and pool rows as cross-fitted scores compare them, with all products computed once."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Codes
from mixmood.scores.fitting.fit import Fit
from mixmood.scores.fitting.roots import roots

AT_CENTRE = 1e-6
"""Of a row's own length. What is nearer to the centre has no direction, and its cosines are 0:
copies of one image differ from their mean by rounding, which products would magnify."""


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
        """Some rows as the labelled ones and some as the pool; both are indices of all rows."""
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
        """Of the moved rows, shape (n + m,); infinite for a row at the centre but for rounding."""
        lengths = np.sqrt(np.einsum("ij,ij->i", self.moved, self.moved))
        is_apart = lengths > AT_CENTRE * np.sqrt(np.diagonal(self.products))
        return np.where(is_apart, lengths, np.inf)

    @cached_property
    def cosines(self) -> NDArray[np.float64]:
        """Of the moved rows, shape (n + m, n + m)."""
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
