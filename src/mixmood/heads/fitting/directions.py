"""The rows that heads use: signed square roots of features, scaled to length 1."""

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.numerics.neighbours import unit_rows


def directions(features: Array) -> Array:
    """sign(x) * sqrt(|x|) of every feature, then each row divided by its length.

    Roots weaken the few features that are large in an image; the length of a row says more
    about contrast than about classes. A row of zeros stays zero. Input and output have shape
    (n, d); float32 stays float32, other types become float64.

    Source: Perronnin et al., "Improving the Fisher kernel", 2010.

    >>> directions(np.array([[9.0, -16.0]])).tolist()
    [[0.6, -0.8]]
    """
    kind = np.float32 if features.dtype == np.float32 else np.float64
    values = np.asarray(features, kind)
    return unit_rows(np.copysign(np.sqrt(np.abs(values)), values))


def canonical_order(rows: Array, codes: NDArray[np.integer] | None = None) -> NDArray[np.intp]:
    """An order of the rows that depends on their values only, not on their present order.

    Random draws from rows in this order do not change when a folder is listed in another order.
    Equal rows are ordered by their codes.
    """
    direction = np.random.default_rng(0).normal(size=rows.shape[1])
    keys = np.einsum("ij,j->i", rows, direction, dtype=np.float64)
    return np.lexsort((keys,) if codes is None else (codes, keys))
