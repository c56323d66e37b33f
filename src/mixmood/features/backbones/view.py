"""How does a backbone look at images: at which resolution, and by which of its layers?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mixmood.core.arrays import Array
from mixmood.core.text import unknown_name

LAST, MIDDLE, BOTH = "last", "middle", "both"
DEPTHS = {LAST: (LAST,), MIDDLE: (MIDDLE,), BOTH: (LAST, MIDDLE)}  # the blocks of each depth
HALF = (MIDDLE,)
"""Blocks whose values are rounded to half precision by the network, and so kept in the cache.

The rounding changed the accuracy on test images of none of 24 heads (four development tasks, three
seeds). The last layer stays in single precision: distances are reported with all their digits.
"""
RESOLUTIONS = (96, 160, 224)  # the resolutions that are compared where a network takes any
TINY = 1e-12

Blocks = Mapping[str, Array]  # raw features by the name of the block, each of shape (n, d)


@dataclass(frozen=True)
class View:
    """A resolution, in pixels a side, and a depth: one of DEPTHS.

    >>> str(View(224, "both"))
    '224 px, both'
    """

    resolution: int
    depth: str = LAST

    def __post_init__(self) -> None:
        """Refuse an unknown depth."""
        if self.depth not in DEPTHS:
            raise unknown_name("depth", self.depth, DEPTHS)

    def __str__(self) -> str:
        """The view as it is written for readers."""
        return f"{self.resolution} px, {self.depth}"

    def describe(self) -> dict[str, Any]:
        """The entry in a record."""
        return {"resolution": self.resolution, "depth": self.depth}


@dataclass(frozen=True)
class BackboneView:
    """A view by a backbone of this name."""

    backbone: str
    view: View

    def __str__(self) -> str:
        """The candidate as it is written for readers."""
        return f"{self.backbone} at {self.view}"


def joined(blocks: Blocks, depth: str) -> Array:
    """The features of a depth, shape (n, d); the last layer alone is returned unchanged.

    Otherwise each block of a row is divided by its sum of absolute values. The signed roots that
    heads and scores take of features then have length 1 in every block: no block outweighs
    another because its values are larger or more.
    """
    if depth == LAST:
        return blocks[LAST]
    parts = []
    for name in DEPTHS[depth]:
        values = np.asarray(blocks[name])
        total = np.abs(values).sum(axis=1, keepdims=True, dtype=np.float64)
        parts.append(values / np.maximum(total, TINY).astype(values.dtype))
    return np.concatenate(parts, axis=1)


def split(columns: Array, widths: Mapping[str, int]) -> dict[str, Array]:
    """The blocks, by name, of features that stand side by side."""
    parts = np.split(columns, np.cumsum(list(widths.values()))[:-1], axis=1)
    return dict(zip(widths, parts, strict=True))
