"""A threshold for the answer "none of these", which keeps most images like the labelled ones."""

import numpy as np

from mixmood.core.arrays import Array
from mixmood.core.errors import InputError
from mixmood.heads.checks import check_setting


def keep_threshold(values: Array, share: float = 0.95) -> float:
    """The value below which the answer for an image is "none of these".

    At least `share` of new images like the labelled ones reach it. `values` say how typical each
    labelled image is (a confidence or a similarity), each found without that image; NaN is ignored.
    The threshold is the floor((n + 1) (1 - share))-th smallest of them. With too few images for a
    guarantee it is 0.

    Source: Vovk et al., "Algorithmic learning in a random world", 2005 (split conformal).

    >>> keep_threshold(np.linspace(0.01, 0.99, 99))
    0.05
    >>> keep_threshold(np.array([0.2, 0.9]))
    0.0
    """
    check_setting("share", share, 0, 1)
    known = np.sort(values[np.isfinite(values)])
    if len(known) == 0:
        raise InputError(
            "A threshold needs values of held-out images; got none. Label two images of a class."
        )
    # Rounded: (n + 1) * 0.05 may fall just short of a whole number.
    n_below = int(np.floor(round((len(known) + 1) * (1 - share), 9)))
    return float(known[n_below - 1]) if n_below > 0 else 0.0
