"""A sample whose rows are in groups that can be left out."""

from dataclasses import dataclass

import numpy as np

from mixmood.core.arrays import Array, Mask, Rows


@dataclass(frozen=True)
class Grouped:
    """A sample of shape (n, d), and the group of each of its rows, shape (n,), numbered from 0."""

    rows: Array
    groups: Rows

    def kept(self, n_groups: int, min_rows: int = 1) -> Mask:
        """For each group, which rows are not in it, shape (groups, n).

        All rows are kept if fewer than `min_rows` would be left.
        """
        kept: Mask = self.groups != np.arange(n_groups)[:, None]
        kept[np.count_nonzero(kept, axis=1) < min_rows] = True
        return kept
