"""Size and colour of the images of a set, and warnings where they may explain a distance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mixmood.core.arrays import Picture

UNLIKE_SIZE = 2.0
"""A warning is given where images are so many times larger."""
MOSTLY = 0.8


class PictureTraits(NamedTuple):
    """Two traits of one picture: its side in pixels, and whether it has no colour."""

    side: float
    is_grey: bool

    @classmethod
    def of(cls, picture: Picture) -> "PictureTraits":
        """The traits of a picture."""
        side = float(np.sqrt(picture.shape[0] * picture.shape[1]))
        red, green, blue = np.moveaxis(picture, -1, 0)
        return cls(side, np.array_equal(red, green) and np.array_equal(red, blue))


@dataclass(frozen=True)
class SetTraits:
    """The median side of some pictures in pixels, and the share without colour."""

    side: float | None
    grey: float | None

    @classmethod
    def of(cls, pictures: Sequence[PictureTraits]) -> "SetTraits":
        """The traits of a set of pictures; None where there are none."""
        if not pictures:
            return cls(None, None)
        sides, is_grey = zip(*pictures, strict=True)
        return cls(float(np.median(sides)), float(np.mean(is_grey)))


def contrasts(labelled: SetTraits, pool: SetTraits) -> tuple[str, ...]:
    """Warnings where the images of a pool have another size or colour than the labelled ones."""
    if labelled.side is None or pool.side is None or labelled.grey is None or pool.grey is None:
        return ()
    found = []
    if max(labelled.side / pool.side, pool.side / labelled.side) >= UNLIKE_SIZE:
        found.append(
            f"images about {pool.side:.0f} pixels a side, the labelled ones "
            f"{labelled.side:.0f}: part of the distance may be sharpness."
        )
    kinds = [_kind(labelled.grey), _kind(pool.grey)]
    if set(kinds) == {"in grey", "in colour"}:
        found.append(
            f"images {kinds[1]}, the labelled ones {kinds[0]}: part of the distance may be "
            "colour alone."
        )
    return tuple(found)


def _kind(grey: float) -> str:
    if grey >= MOSTLY:
        return "in grey"
    return "in colour" if grey <= 1 - MOSTLY else "mixed"
