"""A threshold for "none of these", with a guarantee for images like the labelled ones."""

import numpy as np

from mixmood.core.arrays import Array
from mixmood.core.errors import InputError
from mixmood.heads.checks import check_setting


def keep_threshold(confidences: Array, share: float = 0.95) -> float:
    """The confidence below which an image is none of the classes.

    At least `share` of new images like the labelled ones keep their class. `confidences` are the
    largest probabilities of labelled images by heads that did not train on them; the threshold is
    the floor((n + 1) (1 - share))-th smallest of them. It is 0, so that all are kept, where there
    are too few images for a guarantee.

    Source: Vovk et al., "Algorithmic learning in a random world", 2005 (split conformal).

    >>> keep_threshold(np.linspace(0.01, 0.99, 99))
    0.05
    >>> keep_threshold(np.array([0.2, 0.9]))
    0.0
    """
    check_setting("share", share, 0, 1)
    known = np.sort(confidences[np.isfinite(confidences)])
    if len(known) == 0:
        raise InputError("A threshold needs held-out images; none were. Label two of a class.")
    # Rounded: (n + 1) * 0.05 may fall just short of a whole number.
    n_below = int(np.floor(round((len(known) + 1) * (1 - share), 9)))
    return float(known[n_below - 1]) if n_below > 0 else 0.0
