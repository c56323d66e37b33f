"""A sample whose rows are in groups that can be left out."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Rows


@dataclass(frozen=True)
class Grouped:
    """A sample of shape (n, d), and the group of each of its rows, shape (n,), numbered from 0."""

    rows: Array
    groups: Rows

    def is_kept(self, group: int, min_rows: int = 1) -> NDArray[np.bool_]:
        """Which rows are not in a group, shape (n,); all rows if fewer than `min_rows` are left."""
        kept = self.groups != group
        return kept if np.count_nonzero(kept) >= min_rows else np.ones_like(kept)
