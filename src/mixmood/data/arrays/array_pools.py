"""Pools that are arrays: of images, or of features that were extracted elsewhere."""

import hashlib
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.core.arrays import Rows as Indices
from mixmood.core.errors import InputError, ShapeError, UnreadableImageError, reason
from mixmood.data.arrays.row_file import RowStore, n_bytes
from mixmood.data.decoding.decode import check_unit_range
from mixmood.data.pools.pool import FeatureSource, ImageSource, Labels, Pool, Source

_LARGEST_CHECKED = 256 * 2**20
_FINGERPRINT_ROWS = 256
_CHUNK_BYTES = 4 * 2**20
_SMALLEST_PICTURE = 16


class _RowPool(Source):
    """The code that is common to arrays of images and arrays of features."""

    _rows: RowStore
    _labels: Labels | None

    def __len__(self) -> int:
        """The number of images or of rows of features."""
        return self._rows.shape[0]

    @cached_property
    def fingerprint(self) -> str:
        """A digest of shape, type and 256 evenly spaced rows: quick for arrays of any size."""
        return _digest(self._rows)

    @property
    def labels(self) -> Labels | None:
        """The classes that came with the array."""
        return self._labels


class ImageArray(_RowPool, ImageSource):
    """Images of one size: shape (n, height, width), or (n, height, width, 1, 3 or 4 channels)."""

    def __init__(self, rows: RowStore, name: str, labels: Labels | None = None) -> None:
        """Refuse an array of another shape or type, and floats that are not in 0..1.

        Floats of an array of at most 256 MiB are checked here. Those of a larger array are checked
        when an image is read; an image with wrong values is then unreadable.
        """
        self.name = name
        self._rows = rows
        self._labels = labels
        _check_image_shape(rows.shape, name)
        _check_pixel_type(rows.dtype, name)
        _check_labels(labels, rows, name)
        if rows.dtype.kind == "f" and n_bytes(rows.shape, rows.dtype) <= _LARGEST_CHECKED:
            self._check_floats()

    def fetch(self, index: int) -> NDArray[Any]:
        """The pixels as stored."""
        return np.asarray(self._rows[index])

    def locate(self, index: int) -> str:
        """The name of the pool and the index."""
        return f"{self.name}[{index}]"

    def _check_floats(self) -> None:
        for first, block in _blocks(self._rows):
            try:
                check_unit_range(block)
            except ValueError as error:
                raise InputError(f"{_near(self.name, first, block)}: {reason(error)}.") from error


class FeatureArray(_RowPool, FeatureSource):
    """Features as an array of floats, one row for each image."""

    def __init__(self, rows: RowStore, name: str, labels: Labels | None = None) -> None:
        """Refuse an array of another shape or type, and values that are not finite.

        Values of an array of at most 256 MiB are checked here; all values are checked when read.
        """
        self.name = name
        self._rows = rows
        self._labels = labels
        if len(rows.shape) != 2 or 0 in rows.shape or rows.dtype.kind != "f":
            raise ShapeError(
                f"{name}: features must be a float array of shape (n, d) with n and d above 0, "
                f"got {rows.dtype} of shape {rows.shape}."
            )
        _check_labels(labels, rows, name)
        if n_bytes(rows.shape, rows.dtype) <= _LARGEST_CHECKED:
            for first, block in _blocks(rows):
                self._check_finite(block, np.arange(first, first + len(block)))

    @property
    def width(self) -> int:
        """How many features a row has."""
        return self._rows.shape[1]

    def features(self, indices: Indices) -> Array:
        """The rows at `indices`, as floats in the byte order of this machine."""
        wanted = np.asarray(indices)
        dtype = np.dtype(self._rows.dtype).newbyteorder("=")
        result = np.empty((len(wanted), self.width), dtype=dtype)
        try:
            for place, index in enumerate(wanted.tolist()):
                result[place] = self._rows[index]
        except UnreadableImageError as error:
            raise InputError(f"The features of {self.name} cannot be read: {error}") from error
        self._check_finite(result, wanted)
        return result

    def _check_finite(self, block: NDArray[Any], indices: Indices) -> None:
        finite = np.isfinite(block).all(axis=1)
        if not finite.all():
            row = int(indices[int(np.argmin(finite))])
            raise InputError(
                f"{self.name}: features must be finite, but row {row} holds NaN or infinity. "
                "Leave such rows out, or extract them again."
            )


def array_pool(rows: RowStore, name: str, labels: Labels | None = None) -> Pool:
    """The pool of an array: features if it is 2-D and of floats, else images."""
    if rows.dtype.hasobject:
        raise InputError(
            f"{name}: an array of Python objects is not accepted, because reading it needs pickle. "
            "Give pixels as uint8, or a list of images."
        )
    if len(rows.shape) == 2 and rows.dtype.kind == "f":
        return FeatureArray(rows, name, labels)
    return ImageArray(rows, name, labels)


def labels_from_values(
    values: NDArray[Any], name: str, class_names: tuple[str, ...] | None = None
) -> Labels:
    """Labels from one integer or text per image; `class_names` are the names of the integers.

    Texts may be Python objects, as in a column of pandas.
    """
    if values.dtype.hasobject and all(isinstance(value, str) for value in values.flat):
        values = values.astype(str)
    if values.ndim != 1 or values.dtype.kind not in "iubU":
        raise ShapeError(
            f"{name}: labels must be a 1-D array of integers or texts, "
            f"got {values.dtype} of shape {values.shape}."
        )
    if class_names is None:
        found, codes = np.unique(values, return_inverse=True)
        return Labels(codes.astype(np.int32), tuple(map(str, found.tolist())))
    if values.dtype.kind == "U" or (
        len(values) and not 0 <= values.min() <= values.max() < len(class_names)
    ):
        got = "texts" if values.dtype.kind == "U" else f"{values.min()} to {values.max()}"
        raise InputError(
            f"{name}: labels must be integers from 0 to {len(class_names) - 1}, because there are "
            f"{len(class_names)} class names; got {got}."
        )
    if len(set(class_names)) < len(class_names):
        raise InputError(f"{name}: two classes have the same name. Give every class its own.")
    return Labels(values.astype(np.int32), class_names)


def _check_image_shape(shape: tuple[int, ...], name: str) -> None:
    wanted = (
        f"{name}: images must be an array of shape (n, height, width) or (n, height, width, c) "
        f"with c 1, 3 or 4; got shape {shape}."
    )
    if len(shape) == 4 and shape[3] not in (1, 3, 4) and shape[1] in (1, 3, 4):
        raise ShapeError(f"{wanted} Move the channels to the end: np.moveaxis(images, 1, 3).")
    if len(shape) not in (3, 4) or (len(shape) == 4 and shape[3] not in (1, 3, 4)):
        raise ShapeError(wanted)
    if len(shape) == 3 and shape[2] in (3, 4) and shape[1] >= _SMALLEST_PICTURE:
        raise ShapeError(f"{wanted} It looks like one picture: give it as images[None].")
    if 0 in shape:
        raise InputError(f"{name}: the array has no images (shape {shape}).")


def _check_pixel_type(dtype: np.dtype[Any], name: str) -> None:
    if not (dtype.kind in "bf" or (dtype.kind == "u" and dtype.itemsize <= 2)):
        raise InputError(
            f"{name}: pixels must be uint8, uint16, bool or float in 0..1, got {dtype}. "
            "Convert them, for instance with images.astype(np.uint8)."
        )


def _check_labels(labels: Labels | None, rows: RowStore, name: str) -> None:
    if labels is not None and len(labels.codes) != rows.shape[0]:
        raise ShapeError(
            f"{name}: one label per image is needed, got {len(labels.codes)} labels "
            f"for {rows.shape[0]} images."
        )


def _blocks(rows: RowStore) -> Iterator[tuple[int, NDArray[Any]]]:
    """All rows in blocks of a few megabytes, each with the index of its first row."""
    step = max(1, _CHUNK_BYTES // max(1, n_bytes(rows.shape[1:], rows.dtype)))
    for first in range(0, rows.shape[0], step):
        last = min(first + step, rows.shape[0])
        yield first, np.asarray(rows[first:last])


def _near(name: str, first: int, block: NDArray[Any]) -> str:
    return f"{name}[{first}:{first + len(block)}]"


def _digest(rows: RowStore) -> str:
    hashed = hashlib.sha256(f"array {rows.shape} {np.dtype(rows.dtype).str}".encode())
    n_rows = rows.shape[0]
    for index in np.linspace(0, n_rows - 1, min(n_rows, _FINGERPRINT_ROWS)).astype(int).tolist():
        hashed.update(np.ascontiguousarray(rows[index]).tobytes())
    return hashed.hexdigest()
