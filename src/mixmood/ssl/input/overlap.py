"""Images that are in two sets at once."""

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray


def n_shared(pixels: NDArray[np.uint8], other: NDArray[np.uint8]) -> int:
    """How many images of `pixels` have an identical copy in `other`.

    >>> black, white = np.zeros((2, 4, 4, 3), np.uint8), np.full((1, 4, 4, 3), 255, np.uint8)
    >>> n_shared(black, np.concatenate([black, white]))
    2
    """
    known = {_digest(picture) for picture in other}
    return sum(_digest(picture) in known for picture in pixels)


def _digest(picture: NDArray[Any]) -> bytes:
    return blake2b(picture.tobytes(), digest_size=16).digest()
