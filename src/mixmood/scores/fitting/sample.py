"""Random parts of large sets, so that the time of a fit has a limit."""

import numpy as np
from numpy.typing import NDArray

MOST_LABELLED = 2000
MOST_POOL = 1000
"""Rows of the pool in a fit. A share is then known to 0.02 at best by chance alone, which is less
than what 60 labelled images leave open."""


def random_part(n_rows: int, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """All rows if there are at most `most`, else `most` random ones, in order.

    >>> random_part(3, 5, np.random.default_rng(0)).tolist()
    [0, 1, 2]
    """
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(rng.permutation(n_rows)[:most])
