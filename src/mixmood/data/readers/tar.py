"""A pool that is a tar archive, plain or gzipped: scanned once, then read at any offset."""

import hashlib
import json
import os
import time
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from mixmood.core.arrays import Rows
from mixmood.core.cache import FeatureCache
from mixmood.core.errors import InputError, UnreadableImageError, reason
from mixmood.core.files import check_size, read_at
from mixmood.data.images.dicom import is_dicom
from mixmood.data.images.names import (
    count_passed_over,
    image_order,
    is_image_path,
    may_be_dicom_path,
    passed_over_notes,
    shown_name,
)
from mixmood.data.readers.files import PathSource
from mixmood.data.readers.gzip_access import SeekableGzip, most_unpacked

_BLOCK = 512
_MAX_HEADER_BYTES = 2**20
_MOST_DIGITS = 8  # No header is so long that its length has more digits.
_ZEROS = bytes(_BLOCK)
_REGULAR = (b"0", b"\0", b"7")
_WITHOUT_DATA = (b"1", b"2", b"3", b"4", b"5", b"6")
_SPARSE = b"S"


class TarMember(NamedTuple):
    """A regular file in the archive."""

    name: bytes
    offset: int
    size: int
    start: bytes = b""
    """Its first bytes, if they were asked for."""


class TarStream:
    """An archive from front to back; skipped data of a plain file are not read."""

    def __init__(self, file: BinaryIO | SeekableGzip) -> None:
        """Start where the file is, which must be its beginning."""
        self.read = file.read
        self._file, self._length = file, 0
        if not isinstance(file, SeekableGzip):
            self._length = file.seek(0, 2)
            file.seek(0)

    def skip(self, size: int) -> None:
        """Leave out so many bytes; ValueError if there are fewer."""
        if isinstance(self._file, SeekableGzip):
            while size and (piece := self._file.read(min(size, 2**20))):
                size -= len(piece)
            is_truncated = size > 0
        else:
            is_truncated = self._file.seek(size, 1) > self._length
        if is_truncated:
            raise ValueError("it is truncated")


def read_tar_members(
    stream: TarStream, is_looked_into: Callable[[bytes], bool] = lambda name: False
) -> Iterator[TarMember]:
    """All regular files in their order; ValueError if the archive is truncated or damaged.

    Long names of GNU and of POSIX (pax) archives are read. Links, folders, devices and sparse
    files are left out.

    Args:
        stream: The archive, at its beginning.
        is_looked_into: Whether to read the first bytes of a file of this name.
    """
    offset = 0
    extended: dict[bytes, bytes] = {}
    while (block := stream.read(_BLOCK)) not in (b"", _ZEROS):
        _check_block(block)
        kind, size = block[156:157], _number(block[124:136])
        offset += _BLOCK
        if kind in (b"L", b"x", b"X", b"g"):
            text = _take(stream, size)
            extended |= {b"path": text.rstrip(b"\0")} if kind == b"L" else {}
            extended |= dict(_records(text)) if kind in (b"x", b"X") else {}
            offset += _rounded(size)
            continue
        if kind == _SPARSE:
            offset += _skip_sparse_map(stream, block)
        name, start = extended.get(b"path") or _name(block), b""
        if b"size" in extended:
            size = _number(b"%d" % int(extended[b"size"]), base=10)
        if kind in _WITHOUT_DATA or (kind == b"\0" and name.endswith(b"/")):
            size = 0
        elif kind in _REGULAR and not any(key.startswith(b"GNU.sparse") for key in extended):
            name = name.removeprefix(b"./")
            start = stream.read(min(size, _BLOCK)) if is_looked_into(name) else b""
            yield TarMember(name, offset, size, start)
        stream.skip(_rounded(size) - len(start))
        offset += _rounded(size)
        if kind != b"K":
            extended = {}
    if not offset and not block:
        raise ValueError("it is empty")


def _check_block(block: bytes) -> None:
    if len(block) < _BLOCK:
        raise ValueError("it is truncated")
    rest = block[:148] + b" " * 8 + block[156:]
    claimed = _number(block[148:156])
    # The lower half of Adler-32 is one more than the sum of the bytes, modulo 65521: the same test,
    # ten times as fast as a sum in Python. Some old programs added signed bytes.
    if zlib.adler32(rest) & 0xFFFF != (claimed + 1) % 65_521:
        signed = sum(rest) - 256 * sum(byte > 127 for byte in rest)
        if claimed != signed:
            raise ValueError("a header is damaged, or it is not a tar archive")


def _number(field: bytes, base: int = 8) -> int:
    """A number of a header: octal digits, or a binary number after a first byte of 0x80."""
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    try:
        value = int(field.split(b"\0")[0].strip() or b"0", base)
    except ValueError:
        raise ValueError("a header is damaged, or it is not a tar archive") from None
    if value < 0:
        raise ValueError(f"a header claims {value} bytes")
    return value


def _take(stream: TarStream, size: int) -> bytes:
    """The text of an extended header; ValueError if it is too long or truncated."""
    if size > _MAX_HEADER_BYTES:
        raise ValueError(f"a header claims {size} bytes")
    text = stream.read(_rounded(size))
    if len(text) < size:
        raise ValueError("it is truncated")
    return text[:size]


def _records(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Key and value of each line `LENGTH KEY=VALUE` of an extended header."""
    start = 0
    # By offset: slicing off each line would copy the rest of the text for every line.
    while start < len(text):
        digits = text[start : start + _MOST_DIGITS].partition(b" ")[0]
        length = int(digits) if digits.isdigit() else 0
        # With a length that does not go beyond its own digits, the loop would not end.
        if not len(digits) < length <= len(text) - start:
            raise ValueError("an extended header is damaged")
        line = text[start + len(digits) + 1 : start + length - 1]
        key, equals, value = line.partition(b"=")
        if not equals:
            raise ValueError("an extended header is damaged")
        yield key, value
        start += length


def _skip_sparse_map(stream: TarStream, block: bytes) -> int:
    """Skip the extension blocks of a sparse file's map; returns their length."""
    length, has_more = 0, block[482]
    while has_more:
        block = stream.read(_BLOCK)
        if len(block) < _BLOCK:
            raise ValueError("it is truncated")
        length, has_more = length + _BLOCK, block[504]
    return length


def _name(block: bytes) -> bytes:
    name = block[:100].partition(b"\0")[0]
    prefix = block[345:500].partition(b"\0")[0] if block[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _rounded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


REST_NS = 2 * 10**9
"""A file that changed less than this ago may change again within the same tick of its clock."""


@dataclass(frozen=True)
class ArchiveIndex:
    """The names of the images of an archive, and the offsets and sizes of their bytes."""

    names: list[bytes]
    offsets: Rows
    sizes: Rows
    passed_over: Mapping[str, int]
    """The number of files that are not images, by suffix."""

    def to_bytes(self, stamp: bytes) -> bytes:
        """The index and the stamp of its archive as bytes for the cache."""
        content = {
            "stamp": stamp.hex(),
            "names": [name.decode("latin-1") for name in self.names],
            "offsets": self.offsets.tolist(),
            "sizes": self.sizes.tolist(),
            "passed_over": dict(self.passed_over),
        }
        return json.dumps(content).encode()

    @classmethod
    def from_bytes(cls, data: bytes, stamp: bytes, n_bytes: int) -> "ArchiveIndex | None":
        """The index; None if it belongs to another archive or is not valid.

        Args:
            data: The bytes from the cache. They are checked, not trusted.
            stamp: The stamp of the archive now.
            n_bytes: The length of the archive's content; no image may end after it.
        """
        try:
            content = json.loads(data)
            if content["stamp"] != stamp.hex():
                return None
            names = [name.encode("latin-1") for name in content["names"]]
            offsets, sizes = (
                np.array(content[key], np.int64).reshape(len(names)) for key in ("offsets", "sizes")
            )
            passed_over = {str(kind): int(n) for kind, n in content["passed_over"].items()}
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            return None
        # A size is at most `n_bytes` before it is subtracted, so that nothing overflows.
        is_inside = (sizes >= 0) & (sizes <= n_bytes) & (offsets >= 0)
        is_inside &= offsets <= n_bytes - np.clip(sizes, 0, n_bytes)
        return cls(names, offsets, sizes, passed_over) if names and is_inside.all() else None


def archive_key(path: Path) -> bytes:
    """The cache key of an archive's index: one for each path, so that a new index replaces it."""
    return hashlib.blake2b(b"archive index 3" + os.fsencode(path), digest_size=20).digest()


def archive_stamp(path: Path) -> bytes | None:
    """A digest of size, date and inode of an archive; None if it changed in the last two seconds.

    A file may be written twice within one tick of its clock, so the date of a new file proves
    nothing. Git's index has the same rule.
    """
    status = path.stat()
    if time.time_ns() - status.st_mtime_ns < REST_NS:
        return None
    words = f"{status.st_size} {status.st_mtime_ns} {status.st_ino}"
    return hashlib.blake2b(words.encode(), digest_size=20).digest()


_BROKEN = (zlib.error, EOFError, OSError, ValueError, OverflowError)


class TarSource(PathSource):
    """The images of a tar file, by name; nothing is extracted to disk.

    The first opening scans the archive. Of a plain tar only the headers of the members are read; a
    gzipped tar has to be unpacked once as a whole. The index is kept in the cache, and the archive
    is scanned again only if it changes. Reading an image of a gzipped tar for the first time
    unpacks everything before that image (see `SeekableGzip`).

    Names in the archive are never used as paths of this machine, so none can leave the pool. Links
    and sparse members are left out. Members without a suffix may be DICOM: their first bytes are
    read.
    """

    def __init__(self, path: str | Path, name: str, cache: FeatureCache | None = None) -> None:
        """Look up or scan `path`; refuse a damaged archive, or one without images."""
        self.name = name
        self._path = Path(path).resolve()
        try:
            self._packed = SeekableGzip(self._path) if _is_gzip(self._path) else None
            index = (self._kept(cache) if cache else None) or self._scanned(cache)
        except _BROKEN as error:
            raise InputError(
                f"Cannot open {path} as a tar archive: {reason(error)}. Fetch or pack it again."
            ) from error
        self.notes = passed_over_notes(index.passed_over)
        if not index.names:
            raise InputError(
                f"No images in the archive {path}. {' '.join((*self.notes, ''))}"
                "It should hold files like .png or .jpg, in folders or not."
            )
        self._names, self._offsets, self._sizes = index.names, index.offsets, index.sizes

    def fetch(self, index: int) -> bytes:
        """The bytes of the member."""
        where, offset, size = self.locate(index), int(self._offsets[index]), int(self._sizes[index])
        check_size(size, where)
        if self._packed is None:
            return read_at(self._path, offset, size, where)
        try:
            data = self._packed.read_at(offset, size)
        except _BROKEN as error:
            raise UnreadableImageError(f"{where}: cannot be unpacked: {reason(error)}.") from error
        if len(data) != size:
            raise UnreadableImageError(f"{where}: the archive has changed since it was opened.")
        return data

    def locate(self, index: int) -> str:
        """The archive and the path inside it."""
        return f"{shown_name(self._path.name)}/{super().locate(index)}"

    def reading_order(self, indices: Rows) -> Rows:
        """The order of the members' data in the archive."""
        return np.argsort(self._offsets[indices], kind="stable")

    def _kept(self, cache: FeatureCache) -> ArchiveIndex | None:
        stamp, data = archive_stamp(self._path), cache.index_of(archive_key(self._path))
        if stamp is None or data is None:
            return None
        n_bytes = self._path.stat().st_size
        return ArchiveIndex.from_bytes(
            data, stamp, n_bytes if self._packed is None else most_unpacked(n_bytes)
        )

    def _scanned(self, cache: FeatureCache | None) -> ArchiveIndex:
        before = archive_stamp(self._path)
        names, places, passed_over = [], array("q"), Counter[str]()
        for name, offset, size, start in self._members():
            if is_image_path(name) or is_dicom(start):
                names.append(name)
                places.extend((offset, size))
            else:
                count_passed_over(passed_over, name)
        order = image_order(names)
        offsets, sizes = np.array(places, np.int64).reshape(-1, 2)[order].T
        index = ArchiveIndex([names[place] for place in order], offsets, sizes, passed_over)
        is_same = before is not None and before == archive_stamp(self._path)
        if cache is not None and before is not None and is_same and names:
            cache.keep_index(archive_key(self._path), index.to_bytes(before))
        return index

    def _members(self) -> Iterator[TarMember]:
        with closing(self._packed or self._path.open("rb")) as file:
            yield from read_tar_members(TarStream(file), may_be_dicom_path)
            while self._packed is not None and self._packed.read(2**20):
                pass  # Read to the end, where the checksum of the file is verified.


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"
