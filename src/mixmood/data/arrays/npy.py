"""Pools in NumPy files, .npy and .npz. Sizes are checked before reading; nothing is unpickled."""

import zipfile
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from mixmood.core.errors import InputError, reason
from mixmood.core.files.bounded import DEFLATE_LIMIT
from mixmood.data.arrays.array_pools import array_pool, labels_from_values
from mixmood.data.arrays.row_file import FileRows, RowStore, n_bytes
from mixmood.data.pools.pool import Labels, Pool

MAX_UNPACKED_BYTES = 8 * 2**30
"""The largest unpacked size of a compressed .npz, which can only be unpacked as a whole."""

_KEYS = ("images", "features", "x")
_LOCAL_HEADER = 30


class _Header(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    size: int


def open_npy(path: str | Path, name: str) -> Pool:
    """The pool in an .npy file; only its header is read (for floats, see `ImageArray`)."""
    try:
        with Path(path).open("rb") as file:
            header = _read_header(file)
            rest = file.seek(0, 2) - header.size
    except (ValueError, OSError) as error:
        raise _broken(path, error) from error
    _check_length(path, header, rest)
    return array_pool(_file_rows(path, 0, header), name)


def open_npz(path: str | Path, name: str) -> Pool:
    """The pool in an .npz file: its array `images`, `features` or `x`, or its only array.

    Labels come from `labels` and, if given, `class_names`. Arrays written by `np.savez` stay in
    the file; those of `np.savez_compressed` are unpacked, up to 8 GiB.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(archive)
            rows = _member_rows(path, archive, members[_choose(path, list(members))])
            labels = _member_labels(path, archive, members, name)
    except InputError:
        raise
    except Exception as error:
        # A hostile zip raises more than BadZipFile: struct.error, zlib.error, EOFError, ...
        raise _broken(path, error) from error
    return array_pool(rows, name, labels)


def count_npz(path: str | Path) -> int:
    """The number of rows of the pool in an .npz file, from its header; no rows are read."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(archive)
            with archive.open(members[_choose(path, list(members))]) as file:
                return _read_header(file).shape[0]
    except InputError:
        raise
    except Exception as error:
        raise _broken(path, error) from error


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The arrays of an .npz file by name."""
    return {
        member.filename.removesuffix(".npy"): member
        for member in archive.infolist()
        if member.filename.endswith(".npy")
    }


def _choose(path: str | Path, keys: list[str]) -> str:
    for key in _KEYS:
        if key in keys:
            return key
    others = [key for key in keys if key not in ("labels", "class_names")]
    if len(others) == 1:
        return others[0]
    raise InputError(
        f"{path} must hold one array, or one called {', '.join(_KEYS[:-1])} or {_KEYS[-1]}; "
        f"it holds: {', '.join(keys) or 'none'}."
    )


def _member_rows(path: str | Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> RowStore:
    with archive.open(member) as file:
        header = _read_header(file)
        _check_length(path, header, member.file_size - header.size)
        if member.compress_type == zipfile.ZIP_STORED and not header.dtype.hasobject:
            return _file_rows(path, _start_of(path, member), header)
        return _unpack(path, file, header, member)


def _member_labels(
    path: str | Path, archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], name: str
) -> Labels | None:
    if "labels" not in members:
        return None
    arrays = []
    for key in ("labels", "class_names"):
        if key in members:
            with archive.open(members[key]) as file:
                header = _read_header(file)
                _check_length(path, header, members[key].file_size - header.size)
                arrays.append(_unpack(path, file, header, members[key]))
    class_names = tuple(map(str, arrays[1].ravel().tolist())) if len(arrays) > 1 else None
    return labels_from_values(arrays[0], name, class_names)


def _unpack(
    path: str | Path, file: IO[bytes], header: _Header, member: zipfile.ZipInfo
) -> NDArray[Any]:
    """The whole array, after checking that the sizes in header and archive are possible."""
    if header.dtype.hasobject:
        raise InputError(
            f"{path}: '{member.filename}' is an array of Python objects, which is not read because "
            "that needs pickle. Save it as uint8 or float."
        )
    size = n_bytes(header.shape, header.dtype)
    if size > MAX_UNPACKED_BYTES or member.file_size > DEFLATE_LIMIT * (member.compress_size + 64):
        raise InputError(
            f"{path}: '{member.filename}' would unpack to {size} bytes, more than the "
            f"{MAX_UNPACKED_BYTES} allowed or than its compressed size can hold. "
            "Save it as .npy, which is read row by row."
        )
    data = bytearray(size)
    view, n_read = memoryview(data), 0
    while n_read < size and (n_more := file.readinto(view[n_read:])):  # type: ignore[attr-defined]
        n_read += n_more
    file.read(1)  # At the end of a member its checksum is verified.
    if n_read != size:
        raise EOFError("the compressed data ends early")
    return np.frombuffer(data, dtype=header.dtype).reshape(header.shape)


def _read_header(file: IO[bytes]) -> _Header:
    """The shape and type in the header of an .npy file; ValueError if it is not valid."""
    start = file.tell()
    try:
        version = npy_format.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"format version {version} is unknown")
        read = (
            npy_format.read_array_header_1_0
            if version == (1, 0)
            else npy_format.read_array_header_2_0
        )
        shape, is_fortran, dtype = read(file)
    except ValueError:
        raise
    except Exception as error:
        # The header is a Python literal: hostile ones raise SyntaxError, RecursionError, ...
        raise ValueError(f"its header cannot be read: {reason(error)}") from error
    if is_fortran and len(shape) > 1:
        raise ValueError(
            "it is in Fortran order; save it again with np.save(path, np.ascontiguousarray(array))"
        )
    if any(length < 0 for length in shape):
        raise ValueError(f"its header claims the shape {shape}")
    return _Header(shape, dtype, file.tell() - start)


def _check_length(path: str | Path, header: _Header, n_found: int) -> None:
    if header.dtype.hasobject:
        return  # `_unpack` or `array_pool` refuses it with a better message.
    n_claimed = n_bytes(header.shape, header.dtype)
    if n_claimed > n_found:
        raise InputError(
            f"{path}: the header states {header.dtype} of shape {header.shape}, "
            f"which is {n_claimed} bytes, but {n_found} follow. The file is truncated or forged."
        )


def _file_rows(path: str | Path, start: int, header: _Header) -> FileRows:
    return FileRows(Path(path).resolve(), start + header.size, header.shape, header.dtype)


def _start_of(path: str | Path, member: zipfile.ZipInfo) -> int:
    """The offset of the data of a stored member: after its local header in the archive."""
    with Path(path).open("rb") as file:
        file.seek(member.header_offset)
        local = file.read(_LOCAL_HEADER)
    n_name, n_extra = (int.from_bytes(local[at : at + 2], "little") for at in (26, 28))
    return member.header_offset + _LOCAL_HEADER + n_name + n_extra


def _broken(path: str | Path, error: Exception) -> InputError:
    return InputError(f"Cannot open {path} as a NumPy file: {reason(error)}.")
