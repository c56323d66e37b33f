"""Pictures of a pool at one size: decoded and resized, without unreadable images."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PillowImage

from mixmood.core.arrays import Picture, Rows
from mixmood.core.errors import UnreadableImageError
from mixmood.core.progress import Progress
from mixmood.data.images.pool import ImageSource
from mixmood.features.sample import no_readable_image
from mixmood.ssl.plan import SMALLEST_SIDE

MOST_SIDE = 32
N_SIZED = 16
"""How many images of a pool are read to choose a size."""


def resized(picture: Picture, size: tuple[int, int]) -> Picture:
    """The picture at (height, width), by area-aware bilinear interpolation."""
    if picture.shape[:2] == size:
        return picture
    height, width = size
    image = PillowImage.fromarray(picture)
    return np.asarray(image.resize((width, height), PillowImage.Resampling.BILINEAR))


def pictures_at(
    source: ImageSource, rows: Iterable[int], size: tuple[int, int]
) -> Iterator[tuple[Picture | UnreadableImageError, bool]]:
    """Each picture at (height, width), or its error if unreadable; and whether it was resized.

    Large JPEGs are decoded at a reduced size, but at least at twice the wanted size.
    """
    for row in rows:
        try:
            picture = source.picture(row, max(size))
        except UnreadableImageError as error:
            yield error, False
            continue
        yield resized(picture, size), picture.shape[:2] != size


@dataclass(frozen=True)
class Loaded:
    """Pictures of one size, shape (n, height, width, 3), and which images of the pool they are."""

    pixels: NDArray[np.uint8]
    rows: Rows
    unreadable: tuple[str, ...]
    n_resized: int


def load_pictures(
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
    pictures = pictures_at(source, wanted[order].tolist(), size)
    for place, (picture, is_resized) in zip(order.tolist(), pictures, strict=True):
        if not isinstance(picture, UnreadableImageError):
            n_resized += is_resized
            pixels[place] = picture
            is_kept[place] = True
        progress.advance(task)
    progress.finish(task)
    if not is_kept.any():
        raise no_readable_image(source.name, len(wanted))
    # Moved within the array: a copy would need the same amount of memory again.
    for new_place, place in enumerate(np.flatnonzero(is_kept).tolist()):
        if new_place < place:
            pixels[new_place] = pixels[place]
    unreadable = tuple(map(source.locate, wanted[~is_kept].tolist()))
    return Loaded(pixels[: is_kept.sum()], wanted[is_kept], unreadable, n_resized)


def common_side(source: ImageSource) -> int:
    """The side of the square images to train on: the median shorter side, at most 32 pixels.

    The median is over a few images spread over the pool. Data sets of small images keep their
    size; photos are too large to train a network from scratch with few labels.
    """
    rows = np.unique(np.linspace(0, len(source) - 1, N_SIZED).astype(int))
    read = source.read(rows)
    sides = [min(p.shape[:2]) for p in read if not isinstance(p, UnreadableImageError)]
    if not sides:
        # All of these few are unreadable. `load_pictures` reads all images and reports errors.
        return MOST_SIDE
    return max(SMALLEST_SIDE, min(MOST_SIDE, int(np.median(sides))))


class PictureReader:
    """Reads batches of a pool's pictures at one size, for pools that do not fit in memory."""

    def __init__(
        self,
        source: ImageSource,
        size: tuple[int, int],
        notify: Callable[[str], None] = lambda message: None,
    ) -> None:
        """Read from `source`; `size` is height and width; `notify` gets one warning."""
        self._source = source
        self._notify, self._has_warned = notify, False
        self.size = size
        self.fingerprint = source.fingerprint

    def __len__(self) -> int:
        """How many images the pool holds."""
        return len(self._source)

    def stack(self, rows: Rows) -> NDArray[np.uint8]:
        """The pictures asked for, shape (n, height, width, 3).

        An unreadable picture is replaced by the next readable one of the pool. Batches thus keep
        their size and depend on the rows only.
        """
        pictures = [
            self._next_readable(row) if isinstance(picture, UnreadableImageError) else picture
            for row, (picture, _) in zip(
                rows.tolist(), pictures_at(self._source, rows.tolist(), self.size), strict=True
            )
        ]
        return np.stack(pictures)

    def _next_readable(self, row: int) -> Picture:
        if not self._has_warned:
            # Only once: the number of unreadable images is not known before all have been read.
            self._has_warned = True
            self._notify(
                f"{self._source.name}: {self._source.locate(row)} cannot be read; it and others "
                "like it are replaced by the next readable images."
            )
        n_images = len(self)
        others = ((row + step) % n_images for step in range(1, n_images))
        for picture, _ in pictures_at(self._source, others, self.size):
            if not isinstance(picture, UnreadableImageError):
                return picture
        raise no_readable_image(self._source.name, n_images)
