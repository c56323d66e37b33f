"""What every pool offers, whatever it is made of."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PillowImage

from mixmood.core.arrays import Array, Picture, Rows
from mixmood.core.errors import UnreadableImageError

Raw = bytes | NDArray[Any] | PillowImage.Image
"""An image as its pool stores it: an encoded file, an array of pixels, or a Pillow image."""


@dataclass(frozen=True)
class Labels:
    """The class of every image of a pool: `names[codes[i]]` is the class of image i."""

    codes: NDArray[np.int32]
    names: tuple[str, ...]

    def counts(self) -> dict[str, int]:
        """How many images each class has, in the order of the names."""
        tally = np.bincount(self.codes, minlength=len(self.names))
        return dict(zip(self.names, tally.tolist(), strict=True))


class ImageSource(ABC):
    """A pool of images: opened without reading it, read by index, from any number of threads."""

    name: str

    @abstractmethod
    def __len__(self) -> int:
        """How many images the pool holds, readable or not."""

    @abstractmethod
    def fetch(self, index: int) -> Raw:
        """The image as stored, not yet decoded; raises UnreadableImageError if it is gone."""

    @abstractmethod
    def locate(self, index: int) -> str:
        """What to call the image in a message: its path, or its index in the array."""

    def file_path(self, index: int) -> bytes | None:
        """The path of the image's own file; None where it has none, as in an archive."""
        return None

    @cached_property
    @abstractmethod
    def fingerprint(self) -> str:
        """A hex digest that changes when the pool's list of images does; never reads pixels."""

    @property
    def labels(self) -> Labels | None:
        """The classes, where the pool tells them."""
        return None

    def reading_order(self, indices: Rows) -> Rows:
        """The places in `indices` in the order in which its images are read quickest.

        Disks and archives are read best from front to back; unless a kind of pool knows better,
        that is the order of the indices.
        """
        return np.argsort(indices, kind="stable")

    def read(self, indices: Iterable[int] | Rows) -> Iterator[Picture | UnreadableImageError]:
        """RGB images in the order asked for, with an error object in place of a broken one."""
        from mixmood.data.decoding.decode import decode

        for index in indices:
            try:
                yield decode(self.fetch(int(index)), self.locate(int(index)))
            except UnreadableImageError as error:
                yield error


class FeatureSource(ABC):
    """A pool whose features are given: the backbone is skipped."""

    name: str

    @abstractmethod
    def __len__(self) -> int:
        """How many rows the pool holds."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many features a row has."""

    @abstractmethod
    def features(self, indices: Rows) -> Array:
        """The rows asked for, shape (len(indices), width)."""

    @cached_property
    @abstractmethod
    def fingerprint(self) -> str:
        """A hex digest of the content."""

    @property
    def labels(self) -> Labels | None:
        """The classes, where the pool tells them."""
        return None


Pool = ImageSource | FeatureSource
