"""The scale of a score: the share of labelled images that an image is as typical as."""

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.core.errors import OptionError


def labelled_share(labelled_scores: Array, scores: Array) -> NDArray[np.float64]:
    """The share of labelled images that score no higher than each image, shape (n,).

    0 means less typical than every labelled image, 1 at least as typical as all of them. For an
    image from the same distribution as the labelled ones, all values are equally probable.

    >>> labelled_share(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.5, 2.0, 9.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    ranks = np.searchsorted(np.sort(labelled_scores), scores, side="right")
    return np.asarray(ranks / len(labelled_scores))


def typical_threshold(labelled_scores: Array, share: float) -> float:
    """The score that this share of the labelled images reach: "as typical as 95 % of them".

    >>> typical_threshold(np.arange(1.0, 21.0), 0.95)
    2.0
    """
    if not 0 < share <= 1:
        raise OptionError(f"The share of labelled images must be in (0, 1]; got {share:g}.")
    n_below = len(labelled_scores) - int(np.ceil(share * len(labelled_scores) - 1e-9))
    return float(np.sort(labelled_scores)[n_below])
