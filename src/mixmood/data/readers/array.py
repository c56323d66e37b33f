"""Pools that are arrays, of images or of features: in memory, in NumPy files and in IDX files."""

import gzip
import hashlib
import math
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Rows
from mixmood.core.errors import InputError, ShapeError, UnreadableImageError, errors_as
from mixmood.core.files import DEFLATE_LIMIT, read_at
from mixmood.data.images.decode import check_unit_range
from mixmood.data.images.labels import labels_from_values
from mixmood.data.images.pool import (
    FeatureSource,
    ImageSource,
    Labels,
    Pool,
    Source,
    check_label_count,
    evenly_spaced,
)


@dataclass(frozen=True)
class FileRows:
    """Rows of a file, read when needed: the file is never in memory as a whole.

    Not `np.load(mmap_mode="r")`: if another program writes the file again meanwhile, a memory map
    ends the process with a bus error and no message. Here it is one unreadable image.
    """

    path: Path
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __getitem__(self, index: int | slice) -> NDArray[Any]:
        """One row, or neighbouring rows; UnreadableImageError if the file has become too short."""
        if not isinstance(index, slice):
            return np.asarray(self[index : index + 1][0])
        first, last, _ = index.indices(self.shape[0])
        size = n_bytes(self.shape[1:], self.dtype)
        where = f"{self.path.name}[{first}]"
        data = read_at(self.path, self.offset + first * size, (last - first) * size, where)
        return np.frombuffer(data, dtype=self.dtype).reshape(last - first, *self.shape[1:])


RowStore = NDArray[Any] | FileRows  # rows by index, in memory or in a file


def n_bytes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """The size of an array in bytes; Python integers do not overflow."""
    return dtype.itemsize * math.prod(shape)


def check_length(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any], n_found: int) -> None:
    """Refuse a file whose header states more bytes than it can hold."""
    n_claimed = n_bytes(shape, dtype)
    if n_claimed > n_found and not dtype.hasobject:  # Objects are refused with a better message.
        raise InputError(
            f"{path}: the header states {dtype} of shape {shape}, which is {n_claimed} bytes, but "
            f"at most {n_found} are possible. The file is truncated, forged or too large to unpack."
        )


_LARGEST_CHECKED = 256 * 2**20
_FINGERPRINT_ROWS = 256
_SMALLEST_PICTURE = 16


class _RowPool(Source):
    """The code that is common to arrays of images and arrays of features."""

    def __init__(self, rows: RowStore, name: str, labels: Labels | None = None) -> None:
        """Refuse labels of another number than rows."""
        self.name, self._rows, self.labels = name, rows, labels
        check_label_count(labels, rows.shape[0], name)

    def __len__(self) -> int:
        """The number of images or of rows of features."""
        return self._rows.shape[0]

    @cached_property
    def fingerprint(self) -> str:
        """A digest of shape, type and 256 evenly spaced rows: quick for arrays of any size."""
        state = hashlib.sha256(f"array {self._rows.shape} {self._rows.dtype.str}".encode())
        for index in evenly_spaced(len(self), _FINGERPRINT_ROWS):
            state.update(np.ascontiguousarray(self._rows[index]).tobytes())
        return state.hexdigest()


class ImageArray(_RowPool, ImageSource):
    """Images of one size: shape (n, height, width), or (n, height, width, 1, 3 or 4 channels)."""

    def __init__(self, rows: RowStore, name: str, labels: Labels | None = None) -> None:
        """Refuse an array of another shape or type, and floats not in 0..1 (up to 256 MiB)."""
        shape = rows.shape
        wanted = (
            f"{name}: images must be an array of shape (n, height, width) or (n, height, width, c) "
            f"with c 1, 3 or 4; got shape {shape}."
        )
        if len(shape) not in (3, 4) or (len(shape) == 4 and shape[3] not in (1, 3, 4)):
            is_first = len(shape) == 4 and shape[1] in (1, 3, 4)
            hint = " Move the channels to the end: np.moveaxis(images, 1, 3)." if is_first else ""
            raise ShapeError(wanted + hint)
        if len(shape) == 3 and shape[2] in (3, 4) and shape[1] >= _SMALLEST_PICTURE:
            raise ShapeError(f"{wanted} It looks like one picture: give it as images[None].")
        if 0 in shape:
            raise InputError(f"{name}: the array has no images (shape {shape}).")
        if not (rows.dtype.kind in "bf" or (rows.dtype.kind == "u" and rows.dtype.itemsize <= 2)):
            raise InputError(
                f"{name}: pixels must be uint8, uint16, bool or float in 0..1, got {rows.dtype}. "
                "Convert them, for instance with images.astype(np.uint8)."
            )
        super().__init__(rows, name, labels)
        for first, block in _checked_blocks(rows):
            with errors_as(InputError, f"{name}[{first}:{first + len(block)}]"):
                check_unit_range(block)

    def fetch(self, index: int) -> NDArray[Any]:
        """The pixels as stored."""
        return np.asarray(self._rows[index])


class FeatureArray(_RowPool, FeatureSource):
    """Features as an array of floats, one row for each image."""

    def __init__(self, rows: RowStore, name: str, labels: Labels | None = None) -> None:
        """Refuse an array of another shape or type, and values not finite (up to 256 MiB)."""
        if len(rows.shape) != 2 or 0 in rows.shape or rows.dtype.kind != "f":
            raise ShapeError(
                f"{name}: features must be a float array of shape (n, d) with n and d above 0, "
                f"got {rows.dtype} of shape {rows.shape}."
            )
        super().__init__(rows, name, labels)
        for first, block in _checked_blocks(rows):
            self._check_finite(block, np.arange(first, first + len(block)))

    @property
    def width(self) -> int:
        """How many features a row has."""
        return self._rows.shape[1]

    def features(self, indices: Rows) -> Array:
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

    def _check_finite(self, block: NDArray[Any], indices: Rows) -> None:
        finite = np.isfinite(block).all(axis=1)
        if not finite.all():
            row = indices[np.argmin(finite)]
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


def _checked_blocks(rows: RowStore) -> Iterator[tuple[int, NDArray[Any]]]:
    """Floats in blocks of about 4 MiB, each with the index of its first row.

    None of other types or of more than 256 MiB: these are checked when a row is read.
    """
    if rows.dtype.kind != "f" or n_bytes(rows.shape, rows.dtype) > _LARGEST_CHECKED:
        return
    step = max(1, 4 * 2**20 // max(1, n_bytes(rows.shape[1:], rows.dtype)))
    for first in range(0, rows.shape[0], step):
        yield first, np.asarray(rows[first : first + step])


MAX_UNPACKED_NPZ = 8 * 2**30  # of a compressed .npz, which is only unpacked as a whole

_KEYS = ("images", "features", "x")
_LOCAL_HEADER = 30


def open_npy(path: str | Path, name: str) -> Pool:
    """The pool in an .npy file; only its header is read (for floats, see `ImageArray`)."""
    place = Path(path)
    with errors_as(InputError, f"Cannot open {path} as a NumPy file"), place.open("rb") as file:
        shape, dtype, start = _npy_header(file)
        n_found = file.seek(0, 2) - start
    check_length(place, shape, dtype, n_found)
    return array_pool(FileRows(place.resolve(), start, shape, dtype), name)


def open_npz(path: str | Path, name: str) -> Pool:
    """The pool in an .npz file: its array `images`, `features` or `x`, or its only array.

    Labels come from `labels` and `class_names`. Arrays of `np.savez` stay in the file; those of
    `np.savez_compressed` are unpacked, up to 8 GiB.
    """
    place, labels = Path(path), None
    with _npz_members(place) as (archive, members):
        rows = _rows_of(place, archive, members[_chosen(place, members)])
        whole = {
            key: np.asarray(_rows_of(place, archive, members[key], is_whole=True))
            for key in ("labels", "class_names")
            if key in members
        }
        if "labels" in whole:
            words = whole["class_names"].ravel().tolist() if "class_names" in whole else []
            labels = labels_from_values(whole["labels"], name, tuple(map(str, words)) or None)
    return array_pool(rows, name, labels)


def count_npz(path: Path) -> int:
    """The number of rows of the pool in an .npz file, from its header; no rows are read."""
    with (
        _npz_members(path) as (archive, members),
        archive.open(members[_chosen(path, members)]) as file,
    ):
        return _npy_header(file)[0][0]


@contextmanager
def _npz_members(path: Path) -> Iterator[tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]]:
    """The open archive, and its arrays by name; any error within becomes an InputError."""
    with (
        errors_as(InputError, f"Cannot open {path} as a NumPy file"),
        zipfile.ZipFile(path) as archive,
    ):
        found = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        yield archive, {member.filename.removesuffix(".npy"): member for member in found}


def _chosen(path: Path, members: dict[str, zipfile.ZipInfo]) -> str:
    others = [key for key in members if key not in ("labels", "class_names")]
    known = [key for key in _KEYS if key in members]
    if known or len(others) == 1:
        return (known or others)[0]
    raise InputError(
        f"{path} must hold one array, or one called {', '.join(_KEYS[:-1])} or {_KEYS[-1]}; "
        f"it holds: {', '.join(members) or 'none'}."
    )


def _rows_of(
    path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo, is_whole: bool = False
) -> RowStore:
    """The array of a member: left in the file if it is stored there as it is, else unpacked."""
    with archive.open(member) as file:
        shape, dtype, start = _npy_header(file)
        check_length(path, shape, dtype, member.file_size - start)
        if dtype.hasobject:
            raise InputError(
                f"{path}: '{member.filename}' is an array of Python objects, which is not read "
                "because that needs pickle. Save it as uint8 or float."
            )
        if member.compress_type == zipfile.ZIP_STORED and not is_whole:
            # The data of a stored member follow its local header in the archive.
            local = read_at(path, member.header_offset, _LOCAL_HEADER, member.filename)
            lengths = (int.from_bytes(local[at : at + 2], "little") for at in (26, 28))
            offset = member.header_offset + _LOCAL_HEADER + sum(lengths) + start
            return FileRows(path.resolve(), offset, shape, dtype)
        size, most = n_bytes(shape, dtype), DEFLATE_LIMIT * (member.compress_size + 64)
        if size > MAX_UNPACKED_NPZ or member.file_size > most:
            raise InputError(
                f"{path}: '{member.filename}' would unpack to {size} bytes, more than the "
                f"{MAX_UNPACKED_NPZ} allowed or than its compressed size can hold. "
                "Save it as .npy, which is read row by row."
            )
        file.seek(0)
        array = npy_format.read_array(file, allow_pickle=False)
        file.read(1)  # At the end of a member its checksum is verified.
        return np.asarray(array)


def _npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Shape, type and length of the header of an .npy file; ValueError if it is not valid."""
    readers = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}
    if (version := npy_format.read_magic(file)) not in readers:
        raise ValueError(f"format version {version} is unknown")
    shape, is_fortran, dtype = readers[version](file)
    if is_fortran and len(shape) > 1:
        raise ValueError(
            "it is in Fortran order; save it again with np.save(path, np.ascontiguousarray(array))"
        )
    if any(length < 0 for length in shape):
        raise ValueError(f"its header claims the shape {shape}")
    return shape, dtype, file.tell()


MAX_UNPACKED_IDX = 2 * 2**30  # of a gzipped file, which is only unpacked as a whole

_UBYTE = np.dtype(np.uint8)


def open_idx(path: str | Path, name: str) -> ImageArray:
    """The images of an IDX file, with the labels of the file beside it, if there is one.

    For `train-images-idx3-ubyte` that is `train-labels-idx1-ubyte`, gzipped or not. A plain file
    stays on disk; a gzipped one is unpacked, up to 2 GiB.
    """
    rows = _idx_rows(Path(path))
    if len(rows.shape) not in (3, 4):
        raise ShapeError(
            f"{path} must hold images, (n, height, width); its header says {rows.shape}. "
            "Give the file of the images; its labels are found beside it."
        )
    return ImageArray(rows, name, _labels_beside(Path(path), name))


def _labels_beside(path: Path, name: str) -> Labels | None:
    """The labels in the file that belongs to an images file by its name, if it exists."""
    renamed = re.sub(r"images([-.])idx\d", r"labels\1idx1", path.name)
    plain = renamed.removesuffix(".gz")
    places = [path.with_name(file) for file in (renamed, plain, plain + ".gz")]
    beside = next((place for place in places if place.is_file()), None)
    if renamed == path.name or beside is None:
        return None
    rows = _idx_rows(beside)
    if len(rows.shape) != 1:
        raise ShapeError(f"{beside} must hold labels, one per image; its shape is {rows.shape}.")
    return labels_from_values(np.asarray(rows[: rows.shape[0]]), name)


def _idx_rows(path: Path) -> RowStore:
    with errors_as(InputError, f"Cannot open {path} as an IDX file"), path.open("rb") as file:
        is_packed, n_stored = file.read(2) == b"\x1f\x8b", file.seek(0, 2)
        file.seek(0)
        if not is_packed:
            shape, start = _idx_header(file)
            check_length(path, shape, _UBYTE, n_stored - start)
            return FileRows(path.resolve(), start, shape, _UBYTE)
        with gzip.GzipFile(fileobj=file) as unpacked:
            shape, _ = _idx_header(unpacked)
            check_length(path, shape, _UBYTE, min(MAX_UNPACKED_IDX, DEFLATE_LIMIT * n_stored))
            data = unpacked.read(n_bytes(shape, _UBYTE))
            unpacked.read(1)  # At the end of the stream its checksum is verified.
        check_length(path, shape, _UBYTE, len(data))
        return np.frombuffer(data, dtype=np.uint8).reshape(shape)


def _idx_header(file: IO[bytes] | gzip.GzipFile) -> tuple[tuple[int, ...], int]:
    """The shape, and the offset of the values; ValueError if it is not an IDX file of bytes."""
    magic = file.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or not 1 <= magic[3] <= 4:
        raise ValueError("it does not start like an IDX file")
    if magic[2] != 8:
        raise ValueError(f"its values are of type {magic[2]:#04x}; only bytes (0x08) can be read")
    sizes = file.read(4 * magic[3])
    if len(sizes) < 4 * magic[3]:
        raise ValueError("its header is truncated")
    return tuple(np.frombuffer(sizes, dtype=">u4").tolist()), 4 + len(sizes)
