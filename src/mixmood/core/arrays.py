"""Names for the arrays that pass between layers; shapes are in docstrings."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
"""Feature vectors, shape (n, d), or lists of distances, shape (n,)."""

Picture = NDArray[np.uint8]
"""One RGB image, shape (height, width, 3)."""

Codes = NDArray[np.integer[Any]]
"""The class or the group of each row as a number, shape (n,)."""

Mask = NDArray[np.bool_]
"""True for the chosen rows, shape (n,), or (k, n) for k choices."""

Rows = NDArray[np.integer[Any]]
"""Indices of images or of rows."""
