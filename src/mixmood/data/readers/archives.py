"""Pools that are archives, zip or tar: the images are listed when opened, and read at an offset."""

import hashlib
import json
import os
import struct
import time
import zipfile
import zlib
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Rows
from mixmood.core.cache import FeatureCache
from mixmood.core.errors import InputError, UnreadableImageError, errors_as
from mixmood.core.files import check_size, inflate, read_at
from mixmood.data.images.dicom import DICOM_START, is_dicom
from mixmood.data.images.names import (
    by_length,
    count_passed_over,
    is_image_path,
    may_be_dicom_path,
    passed_over_notes,
    shown_name,
)
from mixmood.data.readers.files import PathSource
from mixmood.data.readers.gzip_access import SeekableGzip, most_unpacked


class Listing(NamedTuple):
    """The images of an archive: their names, and a row for each with its offset and sizes."""

    names: list[bytes]
    rows: NDArray[Any]
    passed_over: Mapping[str, int]  # the number of files that are not images, by suffix


def list_members(
    members: Iterable[tuple[bytes, bool, tuple[int, ...]]], dtype: np.dtype[Any]
) -> Listing:
    """The images, sorted, among members given by name, by whether they are images, and by row."""
    names, passed_over = list[bytes](), Counter[str]()

    def image_rows() -> Iterator[tuple[int, ...]]:
        for name, is_image, row in members:
            if is_image:
                names.append(name)
                yield row
            else:
                count_passed_over(passed_over, name)

    # Row by row into the array: tuples of all members would take more memory than the names.
    rows = np.fromiter(image_rows(), dtype)
    order = sorted(range(len(names)), key=lambda index: by_length(names[index]))
    return Listing([names[index] for index in order], rows[order], passed_over)


class ArchiveSource(PathSource):
    """The images of an archive, by name; nothing is extracted to disk.

    Names in the archive are never used as paths of this machine, so none can leave the pool.
    """

    kind: ClassVar[str]

    def __init__(self, path: str | Path, name: str, cache: FeatureCache | None = None) -> None:
        """List the images of `path`; refuse a damaged archive, or one without images."""
        self.name = name
        self._path = Path(path).resolve()
        start = f"Cannot open {path} as a {self.kind} archive"
        with errors_as(InputError, start, "Fetch or pack it again."):
            self._names, self._rows, passed_over = self._list(cache)
        self.notes = passed_over_notes(passed_over)
        if not self._names:
            advice = "It should hold files like .png or .jpg, in folders or not."
            raise InputError(" ".join((f"No images in the archive {path}.", *self.notes, advice)))

    @abstractmethod
    def _list(self, cache: FeatureCache | None) -> Listing:
        """The images, perhaps as the cache has them; any error means a damaged archive."""

    def locate(self, index: int) -> str:
        """The archive and the path inside it."""
        return f"{shown_name(self._path.name)}/{super().locate(index)}"

    def reading_order(self, indices: Rows) -> Rows:
        """The order of the members' data in the archive."""
        return np.argsort(self._rows["offset"][indices], kind="stable")


_LOCAL = struct.Struct("<4s22xHH")
_ZIP_ROW = np.dtype([(n, np.int64) for n in ("offset", "packed", "size", "crc", "method", "flags")])


class ZipSource(ArchiveSource):
    """The images of a zip file; members must be stored or deflated, and not encrypted."""

    kind = "zip"

    def _list(self, cache: FeatureCache | None) -> Listing:
        # zipfile opens a pool of a million members in 5.5 s with 651 MB. A reader of our own, of 80
        # lines, took 2.3 s and 250 MB: a third of a second and 40 MB for each 100,000 members.
        with zipfile.ZipFile(self._path) as archive:
            return list_members(_members(archive), _ZIP_ROW)

    def fetch(self, index: int) -> bytes:
        """The unpacked bytes of the member; never more than the table of contents states."""
        where = self.locate(index)
        offset, packed, size, crc, method, flags = self._rows[index].tolist()
        check_size(max(size, packed), where)
        if flags & 0x1:
            raise UnreadableImageError(f"{where}: it is encrypted.")
        # Not by zipfile: it would need the whole table and an open file in every process.
        magic, n_name, n_extra = _LOCAL.unpack(read_at(self._path, offset, _LOCAL.size, where))
        if magic != b"PK\3\4":
            raise UnreadableImageError(f"{where}: no member of the archive starts at its offset.")
        data = read_at(self._path, offset + _LOCAL.size + n_name + n_extra, packed, where)
        with errors_as(UnreadableImageError, f"{where}: cannot be unpacked"):
            if method == zipfile.ZIP_DEFLATED:
                data = inflate(data, size)
            elif method != zipfile.ZIP_STORED:
                raise ValueError(
                    f"compression method {method} is not supported, only stored and deflated"
                )
            if len(data) != size:
                raise ValueError(f"{size} bytes promised, {len(data)} stored")
            if zlib.crc32(data) != crc:
                raise ValueError("its checksum is wrong")
        return data


def _members(archive: zipfile.ZipFile) -> Iterator[tuple[bytes, bool, tuple[int, ...]]]:
    infos = archive.infolist()[::-1]
    # So that an entry of the table is freed when it has been read.
    archive.filelist.clear()
    archive.NameToInfo.clear()
    while infos:
        info = infos.pop()
        # Old tools on Windows separate folders by backslashes.
        name = info.filename.replace("\\", "/").encode("utf-8", "surrogateescape")
        sizes = info.header_offset, info.compress_size, info.file_size
        row = (*sizes, info.CRC, info.compress_type, info.flag_bits)
        is_image = is_image_path(name)
        if not is_image and may_be_dicom_path(name):
            # Encrypted, damaged, or of an unknown compression: each is another kind of error.
            with suppress(Exception), archive.open(info) as file:
                is_image = is_dicom(file.read(DICOM_START))
        yield name, is_image, row


_BLOCK = 512
_MAX_HEADER_BYTES = 2**20
_MOST_DIGITS = 8  # No header is so long that its length has more digits.
_ZEROS = bytes(_BLOCK)
_REGULAR = (b"0", b"\0", b"7")
_WITHOUT_DATA = (b"1", b"2", b"3", b"4", b"5", b"6")

Stream = BinaryIO | SeekableGzip


# The name of a regular file, the offset of its data, their size, and perhaps their first bytes.
TarMember = tuple[bytes, int, int, bytes]


def read_tar_members(
    stream: Stream, is_looked_into: Callable[[bytes], bool] = lambda name: False
) -> Iterator[TarMember]:
    """All regular files in their order; ValueError if the archive is truncated or damaged.

    Of a name that `is_looked_into` the first bytes are read. Long names of GNU and POSIX are read;
    links, folders, devices and sparse files are left out. Not by `tarfile`: it takes a cut or
    damaged header for the end, and some of its versions do not return from archives made for that.
    """
    offset = 0
    extended: dict[bytes, bytes] = {}
    while (block := stream.read(_BLOCK)) not in (b"", _ZEROS):
        _check_block(block)
        kind, size = block[156:157], _number(block[124:136])
        offset += _BLOCK
        if kind in (b"L", b"x", b"X", b"g"):
            if size > _MAX_HEADER_BYTES:
                raise ValueError(f"a header claims {size} bytes")
            text = _whole(stream.read(_rounded(size)), size)[:size]
            extended |= {b"path": text.rstrip(b"\0")} if kind == b"L" else {}
            extended |= dict(extended_records(text)) if kind in (b"x", b"X") else {}
            offset += _rounded(size)
            continue
        has_more = kind == b"S" and block[482]  # extension blocks of a sparse file's map
        while has_more:
            has_more = _whole(stream.read(_BLOCK), _BLOCK)[504]
            offset += _BLOCK
        name, start = extended.get(b"path") or _name(block), b""
        if b"size" in extended:
            size = _number(b"%d" % int(extended[b"size"]), base=10)
        if kind in _WITHOUT_DATA or (kind == b"\0" and name.endswith(b"/")):
            size = 0
        elif kind in _REGULAR and not any(key.startswith(b"GNU.sparse") for key in extended):
            name = name.removeprefix(b"./")
            start = stream.read(min(size, _BLOCK)) if is_looked_into(name) else b""
            yield name, offset, size, start
        _skip(stream, _rounded(size) - len(start))
        offset += _rounded(size)
        if kind != b"K":
            extended = {}
    if not offset and not block:
        raise ValueError("it is empty")


def _check_block(block: bytes) -> None:
    rest = _whole(block, _BLOCK)[:148] + b" " * 8 + block[156:]
    excess = _number(block[148:156]) - sum(rest)
    # Some old programs added signed bytes.
    if excess and excess != -256 * sum(byte > 127 for byte in rest):
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


def _whole(data: bytes, size: int) -> bytes:
    if len(data) < size:
        raise ValueError("it is truncated")
    return data


def extended_records(text: bytes) -> Iterator[tuple[bytes, bytes]]:
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


def _skip(stream: Stream, size: int) -> None:
    """Leave out so many bytes; ValueError if there are fewer."""
    if size:
        stream.seek(size - 1, 1)
        _whole(stream.read(1), 1)


def _name(block: bytes) -> bytes:
    name = block[:100].partition(b"\0")[0]
    prefix = block[345:500].partition(b"\0")[0] if block[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _rounded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


REST_NS = 2 * 10**9  # a younger file may change again within the same tick of its clock

_TAR_ROW = np.dtype([("offset", np.int64), ("size", np.int64)])


def index_to_bytes(index: Listing, stamp: bytes) -> bytes:
    """The index of an archive and the archive's stamp as bytes for the cache."""
    content = {
        "stamp": stamp.hex(),
        "names": [name.decode("latin-1") for name in index.names],
        "offsets": index.rows["offset"].tolist(),
        "sizes": index.rows["size"].tolist(),
        "passed_over": dict(index.passed_over),
    }
    return json.dumps(content).encode()


def index_from_bytes(data: bytes, stamp: bytes, n_bytes: int) -> Listing | None:
    """The index; None if it is not that of an archive with this stamp and of so many bytes."""
    try:
        content = json.loads(data)
        is_same = content["stamp"] == stamp.hex()
        names = [name.encode("latin-1") for name in content["names"]]
        pairs = zip(content["offsets"], content["sizes"], strict=True)
        rows = np.fromiter(pairs, _TAR_ROW).reshape(len(names))
        passed_over = {str(kind): int(n) for kind, n in content["passed_over"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None
    # Integers of Python do not overflow.
    is_inside = all(min(row) >= 0 and sum(row) <= n_bytes for row in rows.tolist())
    return Listing(names, rows, passed_over) if is_same and names and is_inside else None


def archive_key(path: Path) -> bytes:
    """The cache key of an archive's index: one for each path, so that a new index replaces it."""
    return hashlib.blake2b(b"archive index 3" + os.fsencode(path), digest_size=20).digest()


def archive_stamp(path: Path) -> bytes | None:
    """A digest of size, date and inode of an archive; None if it changed in the last two seconds.

    A file may be written twice within one tick of its clock. Git's index has the same rule.
    """
    status = path.stat()
    if time.time_ns() - status.st_mtime_ns < REST_NS:
        return None
    words = f"{status.st_size} {status.st_mtime_ns} {status.st_ino}"
    return hashlib.blake2b(words.encode(), digest_size=20).digest()


class TarSource(ArchiveSource):
    """The images of a tar file, by name; links and sparse members are left out.

    The first opening scans the archive, of a plain tar only the headers of its members. The cache
    keeps the index, and the archive is scanned again only if it changes. Reading an image of a
    gzipped tar for the first time unpacks everything before it (see `SeekableGzip`).
    """

    kind = "tar"

    def fetch(self, index: int) -> bytes:
        """The bytes of the member."""
        where, (offset, size) = self.locate(index), self._rows[index].tolist()
        check_size(size, where)
        if self._packed is None:
            return read_at(self._path, offset, size, where)
        with errors_as(UnreadableImageError, f"{where}: cannot be unpacked"):
            data = self._packed.read_at(offset, size)
        if len(data) != size:
            raise UnreadableImageError(f"{where}: the archive has changed since it was opened.")
        return data

    def _list(self, cache: FeatureCache | None) -> Listing:
        with self._path.open("rb") as file:
            is_gzip, n_bytes = file.read(2) == b"\x1f\x8b", file.seek(0, 2)
        self._packed = SeekableGzip(self._path) if is_gzip else None
        stamp, key = archive_stamp(self._path), archive_key(self._path)
        if cache is None or stamp is None:
            return self._scanned()
        if (data := cache.index_of(key)) is not None:
            most = most_unpacked(n_bytes) if is_gzip else n_bytes
            if (known := index_from_bytes(data, stamp, most)) is not None:
                return known
        index = self._scanned()
        if index.names and stamp == archive_stamp(self._path):
            cache.keep_index(key, index_to_bytes(index, stamp))
        return index

    def _scanned(self) -> Listing:
        with closing(self._packed or self._path.open("rb")) as file:
            members = read_tar_members(file, may_be_dicom_path)
            images = (
                (name, is_image_path(name) or is_dicom(start), (offset, size))
                for name, offset, size, start in members
            )
            index = list_members(images, _TAR_ROW)
            while self._packed is not None and file.read(2**20):
                pass  # Read to the end, where the checksum of the file is verified.
        return index
