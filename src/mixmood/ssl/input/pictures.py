"""From pools to arrays of equal pictures: decoding, resizing, leaving out what cannot be read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PillowImage

from mixmood.core.arrays import Picture, Rows
from mixmood.core.errors import InputError, UnreadableImageError
from mixmood.core.progress import Progress
from mixmood.data.pools.pool import ImageSource

NAMED = 3
"""How many unreadable images a message names."""


def resized(picture: Picture, size: tuple[int, int]) -> Picture:
    """The picture at (height, width), by area-aware bilinear interpolation."""
    if picture.shape[:2] == size:
        return picture
    height, width = size
    image = PillowImage.fromarray(picture)
    return np.asarray(image.resize((width, height), PillowImage.Resampling.BILINEAR))


@dataclass(frozen=True)
class Loaded:
    """Pictures of one size, shape (n, height, width, 3), and which images of the pool they are."""

    pixels: NDArray[np.uint8]
    rows: Rows
    unreadable: tuple[str, ...]
    n_resized: int


def load(
    source: ImageSource, size: tuple[int, int], *, progress: Progress, rows: Rows | None = None
) -> Loaded:
    """Every readable picture of a pool, or of some of its rows, at one size."""
    wanted = np.arange(len(source)) if rows is None else rows
    pixels = np.empty((len(wanted), *size, 3), dtype=np.uint8)
    is_kept = np.zeros(len(wanted), dtype=bool)
    n_resized = 0
    task = f"reading {source.name}"
    progress.start(task, len(wanted))
    order = source.reading_order(wanted)
    for place, picture in zip(order.tolist(), source.read(wanted[order]), strict=True):
        if not isinstance(picture, UnreadableImageError):
            n_resized += picture.shape[:2] != size
            pixels[place] = resized(picture, size)
            is_kept[place] = True
        progress.advance(task)
    progress.finish(task)
    if not is_kept.any():
        raise InputError(
            f"{source.name} has no readable image among {len(wanted)}. Check the files."
        )
    # Moved up in place: a copy would take as much memory again.
    for n_before, place in enumerate(np.flatnonzero(is_kept).tolist()):
        if n_before < place:
            pixels[n_before] = pixels[place]
    unreadable = tuple(map(source.locate, wanted[~is_kept].tolist()))
    return Loaded(pixels[: is_kept.sum()], wanted[is_kept], unreadable, n_resized)


def first_size(source: ImageSource) -> tuple[int, int]:
    """Height and width of the first readable image of a pool."""
    for picture in source.read(range(len(source))):
        if not isinstance(picture, UnreadableImageError):
            return picture.shape[0], picture.shape[1]
    raise InputError(f"{source.name} has no readable image among {len(source)}. Check the files.")


def tell_of(
    loaded: Loaded, name: str, size: tuple[int, int], notify: Callable[[str], None]
) -> None:
    """Say once what was left out of a pool and what was resized."""
    if loaded.unreadable:
        notify(left_out(name, loaded.unreadable))
    if loaded.n_resized:
        notify(f"{name}: {loaded.n_resized} images resized to {size[0]} x {size[1]} pixels.")


def left_out(name: str, unreadable: Sequence[str]) -> str:
    """How many images of a pool cannot be read, and the names of the first.

    >>> left_out("web", ["a.png", "b.png", "c.png", "d.png"])
    'web: 4 images cannot be read and are left out: a.png, b.png, c.png and 1 more.'
    """
    n_more = len(unreadable) - NAMED
    more = f" and {n_more} more" if n_more > 0 else ""
    named = ", ".join(unreadable[:NAMED])
    return f"{name}: {len(unreadable)} images cannot be read and are left out: {named}{more}."


class PictureReader:
    """Reads batches of a pool's pictures at one size, for pools that do not fit in memory."""

    def __init__(
        self,
        source: ImageSource,
        size: tuple[int, int],
        notify: Callable[[str], None] = lambda message: None,
    ) -> None:
        """Read from `source`; `size` is height and width; `notify` hears of an unreadable image."""
        self._source = source
        self._notify, self._has_told = notify, False
        self.size = size
        self.fingerprint = source.fingerprint

    def __len__(self) -> int:
        """How many images the pool holds."""
        return len(self._source)

    def stack(self, rows: Rows) -> NDArray[np.uint8]:
        """The pictures asked for, shape (n, height, width, 3).

        An unreadable one is replaced by the next readable one of the pool, so that batches keep
        their size and depend on nothing but the rows.
        """
        pictures = [
            self._next_readable(row) if isinstance(picture, UnreadableImageError) else picture
            for row, picture in zip(rows.tolist(), self._source.read(rows), strict=True)
        ]
        return np.stack([resized(picture, self.size) for picture in pictures])

    def _next_readable(self, row: int) -> Picture:
        if not self._has_told:
            # Once: how many there are is known only when all have been asked for.
            self._has_told = True
            self._notify(
                f"{self._source.name}: {self._source.locate(row)} cannot be read; it and others "
                "like it are replaced by the next readable images."
            )
        n_images = len(self)
        for picture in self._source.read((row + step) % n_images for step in range(1, n_images)):
            if not isinstance(picture, UnreadableImageError):
                return picture
        raise InputError(f"{self._source.name} has no readable image among {n_images}.")
