"""What a pool is: the interface of every pool of images or features, and its range of values."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Picture, Rows
from mixmood.core.errors import ShapeError, UnreadableImageError
from mixmood.data.images.decode import THUMBNAIL_SIDE, Raw, decode, thumbnail, wide_values
from mixmood.data.images.pixel_range import FULL, PixelRange, fitted_range


@dataclass(frozen=True)
class Labels:
    """The class of every image of a pool: `names[codes[i]]` is the class of image i."""

    codes: NDArray[np.int32]
    names: tuple[str, ...]

    def counts(self) -> dict[str, int]:
        """How many images each class has, in the order of the names."""
        n_images = np.bincount(self.codes, minlength=len(self.names))
        return dict(zip(self.names, n_images.tolist(), strict=True))


def evenly_spaced(n_images: int, most: int) -> list[int]:
    """At most so many indices, from the first image to the last."""
    return [int(place) for place in np.linspace(0, n_images - 1, min(most, n_images))]


def check_label_count(labels: Labels | None, n_images: int, name: str) -> None:
    """Refuse labels of another number than the images of the pool of this name."""
    if labels is not None and len(labels.codes) != n_images:
        raise ShapeError(
            f"{name}: one label per image is needed, got {len(labels.codes)} labels "
            f"for {n_images} images."
        )


class Source(ABC):
    """The part of the interface that pools of images and pools of features share."""

    name: str
    fetched_to: object = None  # removes a fetched copy of the pool when nothing refers to it

    @abstractmethod
    def __len__(self) -> int:
        """How many images or rows the pool holds, readable or not."""

    @cached_property
    @abstractmethod
    def fingerprint(self) -> str:
        """A hex digest that changes with the pool's list of images or its rows."""

    @cached_property
    def labels(self) -> Labels | None:
        """The classes of the images; None if the pool has none."""
        return None

    @cached_property
    def why_unlabelled(self) -> str:
        """Why a set that should have classes has none, in a sentence; empty if nothing says so."""
        return ""

    def locate(self, index: int) -> str:
        """The name of an image or row in messages and lists; by default the pool and the index."""
        return f"{self.name}[{index}]"

    def column(self, name: str) -> list[str] | None:
        """The values of a column of the pool's table, one for each image; None without it."""
        return None


class ImageSource(Source):
    """A pool of images: opened without reading it, read by index, from any number of threads."""

    pixel_range: PixelRange | None = None  # for images of more than eight bits; None: 0 to 65535
    notes: tuple[str, ...] = ()  # sentences for the user, such as about files that are not images

    @abstractmethod
    def fetch(self, index: int) -> Raw:
        """The image as stored, not yet decoded; raises UnreadableImageError if it is gone."""

    def file_path(self, index: int) -> bytes | None:
        """The path of the image's own file; None if it has none, as in an archive."""
        return None

    def reading_order(self, indices: Rows) -> Rows:
        """The order of `indices` in which images are read quickest: from front to back."""
        return np.argsort(indices, kind="stable")

    def wide_values(self, index: int) -> NDArray[Any] | None:
        """The values of an image of more than eight bits as stored; None for any other."""
        return wide_values(self.fetch(index), self.locate(index))

    def scaled_by(self, pixel_range: PixelRange | None) -> Self:
        """This pool with its images of more than eight bits scaled by this range."""
        pool = copy.copy(self)
        pool.pixel_range = pixel_range
        return pool

    def picture(self, index: int, side: int | None = None) -> Picture:
        """One RGB image, shape (height, width, 3); raises UnreadableImageError. See `decode`."""
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


def thumbnails(
    pool: Pool, rows: Iterable[int] | Rows, side: int = THUMBNAIL_SIDE
) -> Iterator[str | None]:
    """A small picture of each image as a data URI; None if it cannot be read, and for features."""
    if isinstance(pool, FeatureSource):
        yield from (None for _ in rows)
        return
    for picture in pool.read(rows, side):
        yield thumbnail(picture, side) if isinstance(picture, np.ndarray) else None


N_LOOKED_AT = 8  # images read first; if none has more than eight bits, no others are read
N_FITTED = 64  # images on which a range is fitted
N_PIXELS = 4096  # about so many pixels of each image are used


def fit_pixel_range(labelled: Pool) -> PixelRange | None:
    """The range of the labelled images of more than eight bits; None if they have eight.

    Without it, 12-bit scans in 16-bit files would be black: their largest value is a sixteenth of
    the largest that 16 bits can hold.
    """
    if isinstance(labelled, FeatureSource):
        return None
    first = _samples(labelled, N_LOOKED_AT)
    return fitted_range(np.concatenate(_samples(labelled, N_FITTED))) if first else None


def scaled(pool: Pool, pixel_range: PixelRange | None) -> Pool:
    """The pool with its images of more than eight bits scaled by this range, if there is one."""
    if pixel_range is None or not isinstance(pool, ImageSource):
        return pool
    return pool.scaled_by(pixel_range)


def scaled_alike(labelled: Pool, pools: Mapping[str, Pool]) -> tuple[Pool, dict[str, Pool]]:
    """The labelled set and the pools, all scaled by the range of the labelled set."""
    fitted = fit_pixel_range(labelled)
    return scaled(labelled, fitted), {name: scaled(pool, fitted) for name, pool in pools.items()}


def poor_range(source: ImageSource) -> tuple[int, int]:
    """The number of evenly spaced images tried, and how many become nearly black or white."""
    fitted = source.pixel_range or FULL
    if not _samples(source, N_LOOKED_AT):
        return 0, 0
    n_poor = sum(not fitted.fits(values) for values in _samples(source, N_FITTED))
    return min(len(source), N_FITTED), n_poor


def _samples(source: ImageSource, n_images: int) -> list[NDArray[Any]]:
    """Some pixels of each image of more than eight bits among evenly spaced ones."""
    found = []
    for index in evenly_spaced(len(source), n_images):
        try:
            values = source.wide_values(index)
        except UnreadableImageError:
            continue
        if values is not None and np.isfinite(values).all():
            found.append(values.ravel()[:: max(1, values.size // N_PIXELS)])
    return found
