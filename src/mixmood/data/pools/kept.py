"""A pool that is a part of another pool: the images or rows that `mixmood filter` kept.

The list names the pool and the index of every image, so that members of archives, rows of Parquet
files and arrays can be found. The path of each row must be that of the image at its index. So a
pool that has changed is noticed, and a foreign list cannot choose files of this machine by number.
"""

import hashlib
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Rows
from mixmood.core.errors import InputError
from mixmood.core.files.spreadsheet import inert
from mixmood.data.decoding.pixel_range import PixelRange
from mixmood.data.pools.kept_list import UNKNOWN, chain_of_lists, pool_place, read_kept_list
from mixmood.data.pools.pool import FeatureSource, ImageSource, Labels, Pool, Raw, Source

S = TypeVar("S", ImageSource, FeatureSource)
Opener = Callable[[str], Pool]


class _KeptPart(Source, Generic[S]):
    """The code that is common to kept images and kept features."""

    _base: S

    def __init__(self, base: S, indices: Rows, name: str) -> None:
        """Keep the images or rows of `base` at these indices."""
        self.name = name
        self._base, self._indices = base, indices

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._indices)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the whole pool's fingerprint and of the indices."""
        return _digest(self._base, self._indices)

    @cached_property
    def labels(self) -> Labels | None:
        """The classes of the kept images; None if the pool has none."""
        return _labels(self._base, self._indices)


class KeptImages(_KeptPart[ImageSource], ImageSource):
    """Some images of a pool, in the order of the list."""

    def fetch(self, index: int) -> Raw:
        """The image as its pool stores it."""
        return self._base.fetch(int(self._indices[index]))

    def locate(self, index: int) -> str:
        """The name of the image in its pool."""
        return self._base.locate(int(self._indices[index]))

    def file_path(self, index: int) -> bytes | None:
        """The path of the image's own file, if it has one."""
        return self._base.file_path(int(self._indices[index]))

    def reading_order(self, indices: Rows) -> Rows:
        """The order that is quickest in the whole pool."""
        return self._base.reading_order(self._indices[indices])

    def wide_values(self, index: int) -> NDArray[Any] | None:
        """The values of an image of more than eight bits as stored; None for any other."""
        return self._base.wide_values(int(self._indices[index]))

    def scaled_by(self, pixel_range: PixelRange | None) -> Self:
        """The same pool with its images of more than eight bits scaled by this range."""
        pool = super().scaled_by(pixel_range)
        # A pool of DICOM frames applies the range itself when it fetches a frame.
        pool._base = self._base.scaled_by(pixel_range)
        return pool


class KeptFeatures(_KeptPart[FeatureSource], FeatureSource):
    """Some rows of a pool of features."""

    @property
    def width(self) -> int:
        """How many features a row has."""
        return self._base.width

    def features(self, indices: Rows) -> Array:
        """The rows asked for."""
        return self._base.features(self._indices[np.asarray(indices)])


def open_kept(path: Path, name: str, open_base: Opener) -> Pool:
    """The pool of the images that a list keeps.

    Args:
        path: The list.
        name: The name of the new pool.
        open_base: Opens the pool that the list names.
    """
    kept = read_kept_list(path)
    # Refuses a list that is its own pool, which would be opened without end.
    chain_of_lists(path)
    base, indices = open_base(pool_place(path, kept.pool)), kept.indices
    if indices[0] == UNKNOWN:
        indices = _indices_of(base, kept.paths, path)
    _check_unchanged(path, base, indices, kept.paths)
    if isinstance(base, FeatureSource):
        return KeptFeatures(base, indices, name)
    return KeptImages(base, indices, name)


def _indices_of(base: Pool, paths: list[str], path: Path) -> Rows:
    """The index of every path, by looking through the names of the pool once."""
    wanted = set(paths)
    found: dict[str, int] = {}
    for index in range(len(base)):
        if (entry := located(base, index)) in wanted:
            found.setdefault(entry, index)
    if missing := [entry for entry in paths if entry not in found]:
        raise InputError(
            f"{path} does not fit its pool any more: '{missing[0]}' is gone. Filter the pool again."
        )
    return np.array([found[entry] for entry in paths], dtype=np.int64)


def _check_unchanged(path: Path, base: Pool, indices: Rows, paths: list[str]) -> None:
    """Refuse a list whose paths are not those of the pool at the same indices."""
    for index, entry in zip(indices.tolist(), paths, strict=True):
        found = located(base, index) if 0 <= index < len(base) else None
        if found is None or entry not in (found, inert(found)):
            raise InputError(
                f"{path} does not fit its pool any more: image {index} was '{entry}' and is now "
                f"{'gone' if found is None else repr(found)}. Filter the pool again."
            )


def located(pool: Pool, index: int) -> str:
    """The name of an image in its pool; a row of features has the pool's name and its index."""
    return pool.locate(index) if isinstance(pool, ImageSource) else f"{pool.name}[{index}]"


def _digest(base: Pool, indices: Rows) -> str:
    state = hashlib.sha256(f"kept {base.fingerprint}".encode())
    state.update(np.ascontiguousarray(indices, dtype="<i8").tobytes())
    return state.hexdigest()


def _labels(base: Any, indices: Rows) -> Labels | None:
    labels: Labels | None = base.labels
    return None if labels is None else Labels(labels.codes[indices], labels.names)
