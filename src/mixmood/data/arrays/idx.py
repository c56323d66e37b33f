"""Pools in IDX files, the format of MNIST, plain or gzipped."""

import gzip
import io
import re
import zlib
from pathlib import Path
from typing import IO

import numpy as np

from mixmood.core.errors import InputError, ShapeError, reason
from mixmood.core.files.bounded import DEFLATE_LIMIT
from mixmood.data.arrays.array_pools import ImageArray, labels_from_values
from mixmood.data.arrays.row_file import FileRows, RowStore, n_bytes
from mixmood.data.pools.pool import Labels

MAX_UNPACKED_BYTES = 2 * 2**30
"""The largest unpacked size of a gzipped file, which can only be unpacked as a whole."""

_UBYTE = 8


def open_idx(path: str | Path, name: str) -> ImageArray:
    """The images of an IDX file, with the labels of the file beside it, if there is one.

    The labels of `train-images-idx3-ubyte` are looked for in `train-labels-idx1-ubyte`, gzipped
    or not. A plain file stays on disk; a gzipped one is unpacked, up to 2 GiB.
    """
    rows = _open_rows(Path(path))
    if len(rows.shape) not in (3, 4):
        raise ShapeError(
            f"{path} must hold images, (n, height, width); its header says {rows.shape}. "
            "Give the file of the images; its labels are found beside it."
        )
    return ImageArray(rows, name, _labels_beside(Path(path), name))


def labels_path(path: Path) -> Path | None:
    """The labels file that belongs to an images file by its name, if it exists.

    >>> labels_path(Path("no/such/train-images-idx3-ubyte")) is None
    True
    """
    renamed = re.sub(r"images([-.])idx\d", r"labels\1idx1", path.name)
    if renamed == path.name:
        return None
    plain = renamed.removesuffix(".gz")
    candidates = [path.with_name(renamed), path.with_name(plain), path.with_name(plain + ".gz")]
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _labels_beside(path: Path, name: str) -> Labels | None:
    beside = labels_path(path)
    if beside is None:
        return None
    rows = _open_rows(beside)
    if len(rows.shape) != 1:
        raise ShapeError(f"{beside} must hold labels, one per image; its shape is {rows.shape}.")
    return labels_from_values(np.asarray(rows[: rows.shape[0]]), name)


def _open_rows(path: Path) -> RowStore:
    try:
        with path.open("rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
            n_stored = file.seek(0, io.SEEK_END)
            file.seek(0)
            if is_packed:
                return _unpack(path, file, n_stored)
            shape, offset = _read_header(file)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise InputError(f"Cannot open {path} as an IDX file: {reason(error)}.") from error
    _check_length(path, shape, n_stored - offset)
    return FileRows(path.resolve(), offset, shape, np.dtype(np.uint8))


def _unpack(path: Path, file: IO[bytes], n_stored: int) -> RowStore:
    with gzip.GzipFile(fileobj=file) as unpacked:
        shape, _ = _read_header(unpacked)
        size = n_bytes(shape, np.dtype(np.uint8))
        _check_length(path, shape, min(MAX_UNPACKED_BYTES, DEFLATE_LIMIT * n_stored))
        data = unpacked.read(size)
        _check_length(path, shape, len(data))
        unpacked.read(1)  # At the end of the stream its checksum is verified.
    return np.frombuffer(data, dtype=np.uint8).reshape(shape)


def _read_header(file: IO[bytes] | gzip.GzipFile) -> tuple[tuple[int, ...], int]:
    """The shape, and the offset of the values; ValueError if it is not an IDX file of bytes."""
    magic = file.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or not 1 <= magic[3] <= 4:
        raise ValueError("it does not start like an IDX file")
    if magic[2] != _UBYTE:
        raise ValueError(f"its values are of type {magic[2]:#04x}; only bytes (0x08) can be read")
    sizes = file.read(4 * magic[3])
    if len(sizes) < 4 * magic[3]:
        raise ValueError("its header is truncated")
    return tuple(np.frombuffer(sizes, dtype=">u4").tolist()), 4 + len(sizes)


def _check_length(path: Path, shape: tuple[int, ...], n_possible: int) -> None:
    n_claimed = n_bytes(shape, np.dtype(np.uint8))
    if n_claimed > n_possible:
        raise InputError(
            f"{path}: the header states the shape {shape}, which is {n_claimed} bytes, but at most "
            f"{n_possible} are possible. The file is truncated, forged or too large to unpack."
        )
