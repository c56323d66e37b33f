"""The interface of every pool."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PillowImage

from mixmood.core.arrays import Array, Picture, Rows
from mixmood.core.errors import UnreadableImageError
from mixmood.data.decoding.pixel_range import PixelRange

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


class Source(ABC):
    """The part of the interface that pools of images and pools of features share.

    Attributes:
        name: The name of the pool in results.
    """

    name: str

    @abstractmethod
    def __len__(self) -> int:
        """How many images or rows the pool holds, readable or not."""

    @cached_property
    @abstractmethod
    def fingerprint(self) -> str:
        """A hex digest that changes with the pool's list of images or its rows."""

    @property
    def labels(self) -> Labels | None:
        """The classes of the images; None if the pool has none."""
        return None

    @property
    def why_unlabelled(self) -> str:
        """A sentence about images that keep the pool from having classes; empty if there are none.

        It is meant for sets that should have classes; pools need none.
        """
        return ""


class ImageSource(Source):
    """A pool of images: opened without reading it, read by index, from any number of threads.

    Attributes:
        pixel_range: How its images of more than eight bits are scaled; None for 0 to 65535.
        notes: Sentences about the pool for the user, such as about files that are not images.
    """

    pixel_range: PixelRange | None = None
    notes: tuple[str, ...] = ()

    @abstractmethod
    def fetch(self, index: int) -> Raw:
        """The image as stored, not yet decoded; raises UnreadableImageError if it is gone."""

    @abstractmethod
    def locate(self, index: int) -> str:
        """The name of the image in messages and lists: its path, or the pool and its index."""

    def file_path(self, index: int) -> bytes | None:
        """The path of the image's own file; None if it has none, as in an archive."""
        return None

    def reading_order(self, indices: Rows) -> Rows:
        """The order that sorts `indices` so that the images are read quickest.

        Disks and archives are read quickest from front to back. By default that is the order of
        the indices.
        """
        return np.argsort(indices, kind="stable")

    def wide_values(self, index: int) -> NDArray[Any] | None:
        """The values of an image of more than eight bits as stored; None for any other."""
        from mixmood.data.decoding.decode import wide_values

        return wide_values(self.fetch(index), self.locate(index))

    def scaled_by(self, pixel_range: PixelRange | None) -> Self:
        """The same pool with its images of more than eight bits scaled by this range."""
        pool = copy.copy(self)
        pool.pixel_range = pixel_range
        return pool

    def picture(self, index: int, side: int | None = None) -> Picture:
        """One RGB image, shape (height, width, 3); raises UnreadableImageError.

        Args:
            index: The index of the image.
            side: The side to which the caller will shrink the picture: a large JPEG is then
                decoded at reduced size, never below twice that side.
        """
        from mixmood.data.decoding.decode import decode

        return decode(self.fetch(index), self.locate(index), side, self.pixel_range)

    def read(
        self, indices: Iterable[int] | Rows, side: int | None = None
    ) -> Iterator[Picture | UnreadableImageError]:
        """RGB images in the order of `indices`; an error object in place of a broken image."""
        for index in indices:
            try:
                yield self.picture(int(index), side)
            except UnreadableImageError as error:
                yield error


class FeatureSource(Source):
    """A pool of features: no backbone is needed."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many features a row has."""

    @abstractmethod
    def features(self, indices: Rows) -> Array:
        """The rows asked for, shape (len(indices), width)."""


Pool = ImageSource | FeatureSource
