"""Near copies of an image: other encodings, other sizes, small changes."""

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.numerics.neighbours import cosine_neighbours, unit_rows

COPY_COSINE = 0.985
"""Chosen on development images: of 9.4 million pairs of different ones, none exceeds 0.977."""
TIMES_AS_NEAR = 10
EQUAL_COSINE = 0.99999
"""The cosine of rows in single precision that are equal but for rounding."""
MOST_COMPARED = 500
"""Images of a set that are compared; it bounds the time."""


def copy_cosine(labelled: Array) -> float:
    """An image with at least this cosine to a labelled image is a copy of it.

    Features of other backbones may all lie in a narrow cone, where different images have cosines
    above 0.985 too. So a copy must be ten times as near as labelled images are to their neighbours.

    Args:
        labelled: Unit rows of the labelled images, shape (n, d), n at least 2.
    """
    sample = labelled[:MOST_COMPARED]
    typical = float(np.median(cosine_neighbours(sample, None, 1).similarities[:, 0]))
    # Bounded, so that a cosine of 1 is a copy even where half of the labelled images are copies.
    return min(max(COPY_COSINE, 1 - (1 - typical) / TIMES_AS_NEAR), EQUAL_COSINE)


def near_copies(features: Array, labelled: Array) -> NDArray[np.bool_]:
    """Which images are near copies of labelled ones, shape (n,).

    Args:
        features: Shape (n, d).
        labelled: Shape (m, d), m at least 2.
    """
    units = unit_rows(labelled)
    nearest = cosine_neighbours(features, units, 1).similarities[:, 0]
    return np.asarray(nearest >= copy_cosine(units))
