"""Random parts of large sets, to limit the time of a fit."""

import numpy as np
from numpy.typing import NDArray

MOST_LABELLED = 2000
MOST_POOL = 1000
"""The largest number of pool rows in a fit. The standard error of a share is then up to 0.02, less
than that from 60 labelled images."""


def random_part(n_rows: int, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """All rows if there are at most `most`, else `most` random ones, in order.

    >>> random_part(3, 5, np.random.default_rng(0)).tolist()
    [0, 1, 2]
    """
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(rng.permutation(n_rows)[:most])
