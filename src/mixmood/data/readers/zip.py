"""A pool that is a zip archive: only its table of contents is read when it is opened."""

import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from mixmood.core.arrays import Rows
from mixmood.core.errors import InputError, UnreadableImageError, reason
from mixmood.core.files import check_size, inflate, read_at
from mixmood.data.images.dicom import DICOM_START, is_dicom
from mixmood.data.images.names import (
    count_passed_over,
    image_order,
    is_image_path,
    may_be_dicom_path,
    passed_over_notes,
    shown_name,
)
from mixmood.data.readers.files import PathSource

_END = struct.Struct("<4s4H2LH")
_END64_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_ENTRY = struct.Struct("<4s4B4HL2L5H2L")
_LONGEST_COMMENT = 65_535
_IN_EXTRA = 0xFFFFFFFF
_UTF8 = 0x800


class ZipMember(NamedTuple):
    """The offset of a member, its sizes, and how it is compressed."""

    name: bytes
    offset: int
    packed: int
    """Bytes in the archive."""
    size: int
    """Bytes when unpacked."""
    crc: int
    method: int
    flags: int


def read_zip_members(path: Path) -> Iterator[ZipMember]:
    """All members in the order of the table; ValueError if the table is missing or damaged."""
    with path.open("rb") as file:
        count, start, shift = _find_table(file)
        file.seek(start)
        for _ in range(count):
            yield _read_entry(file, shift)


def _find_table(file: IO[bytes]) -> tuple[int, int, int]:
    """The number of entries, the start of the table, and a number to add to all offsets.

    Data may precede an archive, such as a program that unpacks it. Some tools include the length of
    these data in the offsets, and others do not.
    """
    length = file.seek(0, 2)
    tail_at = max(0, length - _END.size - _LONGEST_COMMENT)
    file.seek(tail_at)
    tail = file.read()
    at = tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) - at < _END.size:
        raise ValueError("it has no table of contents, so it is truncated or not a zip archive")
    _, _, _, _, count, size, start, _ = _END.unpack_from(tail, at)
    end = tail_at + at
    if at >= _END64_LOCATOR.size and tail[at - 20 : at - 16] == b"PK\6\7":
        _, _, place, _ = _END64_LOCATOR.unpack_from(tail, at - _END64_LOCATOR.size)
        end = place if place < length else -1
        file.seek(max(0, end))
        found = file.read(_END64.size)
        if end < 0 or len(found) < _END64.size or found[:4] != b"PK\6\6":
            raise ValueError("its table of contents is not where it should be")
        *_, count, size, start = _END64.unpack(found)
    shift = end - size - start
    if shift < 0:
        raise ValueError("its table of contents is not where it should be")
    return count, start + shift, shift


def _read_entry(file: IO[bytes], shift: int) -> ZipMember:
    head = file.read(_ENTRY.size)
    if len(head) < _ENTRY.size or head[:4] != b"PK\1\2":
        raise ValueError("its table of contents is damaged")
    fields = _ENTRY.unpack(head)
    flags, method = fields[5], fields[6]
    crc, packed, size, n_name, n_extra, n_comment = fields[9:15]
    offset = fields[-1]
    text = file.read(n_name + n_extra + n_comment)
    if len(text) < n_name + n_extra + n_comment:
        raise ValueError("its table of contents is damaged")
    if _IN_EXTRA in (packed, size, offset):
        size, packed, offset = _large(text[n_name : n_name + n_extra], size, packed, offset)
    name = text[:n_name].partition(b"\0")[0]
    if not flags & _UTF8:
        name = name.decode("cp437").encode()
    return ZipMember(name, offset + shift, packed, size, crc, method, flags)


def _large(extra: bytes, *values: int) -> list[int]:
    """Size, packed size and offset; values too large for 32 bits come from the extra field."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if kind == 1:
            wide = iter(struct.unpack_from(f"<{length // 8}Q", extra[: at + 4 + length], at + 4))
            return [next(wide, value) if value == _IN_EXTRA else value for value in values]
        at += 4 + length
    return list(values)


_LOCAL = struct.Struct("<4s22xHH")
_ENCRYPTED = 0x1
_MEMBER = struct.Struct("<q2QL2H")
_N_START = 4096
"""So many packed bytes hold the first bytes of a file and the deflate tables before them."""


class ZipSource(PathSource):
    """The images of a zip file, by name; nothing is extracted to disk.

    Names in the archive are never used as paths of this machine, so none can leave the pool.
    Members must be stored or deflated; others, and encrypted ones, are unreadable images. Members
    without a suffix may be DICOM: their first bytes are read.
    """

    def __init__(self, path: str | Path, name: str) -> None:
        """Read the table of contents of `path`; refuse a broken archive or one without images."""
        self.name = name
        self._path = Path(path).resolve()
        names, members, passed_over = [], bytearray(), Counter[str]()
        try:
            with self._path.open("rb") as file:
                for member in read_zip_members(self._path):
                    # Old tools on Windows separate folders by backslashes.
                    inside = member.name.replace(b"\\", b"/")
                    if is_image_path(inside) or _is_dicom_inside(file, inside, member):
                        names.append(inside)
                        members += _MEMBER.pack(*member[1:])
                    else:
                        count_passed_over(passed_over, inside)
        except (OSError, ValueError, struct.error) as error:
            raise InputError(
                f"Cannot open {path} as a zip archive: {reason(error)}. Fetch or pack it again."
            ) from error
        self.notes = passed_over_notes(passed_over)
        if not names:
            raise InputError(
                f"No images in the archive {path}. {' '.join((*self.notes, ''))}"
                "It should hold files like .png or .jpg, in folders or not."
            )
        order = image_order(names)
        self._names = [names[place] for place in order]
        self._members = np.frombuffer(members, f"V{_MEMBER.size}")[order].tobytes()

    def fetch(self, index: int) -> bytes:
        """The unpacked bytes of the member; never more than the table of contents states."""
        where = self.locate(index)
        place = index * _MEMBER.size
        offset, packed, size, crc, method, flags = _MEMBER.unpack_from(self._members, place)
        check_size(max(size, packed), where)
        if flags & _ENCRYPTED:
            raise UnreadableImageError(f"{where}: it is encrypted.")
        magic, n_name, n_extra = _LOCAL.unpack(read_at(self._path, offset, _LOCAL.size, where))
        if magic != b"PK\3\4":
            raise UnreadableImageError(f"{where}: no member of the archive starts at its offset.")
        data = read_at(self._path, offset + _LOCAL.size + n_name + n_extra, packed, where)
        try:
            data = _unpack(data, size, method)
        except ValueError as error:
            raise UnreadableImageError(f"{where}: cannot be unpacked: {error}.") from error
        if zlib.crc32(data) != crc:
            raise UnreadableImageError(f"{where}: cannot be unpacked: its checksum is wrong.")
        return data

    def locate(self, index: int) -> str:
        """The archive and the path inside it."""
        return f"{shown_name(self._path.name)}/{super().locate(index)}"

    def reading_order(self, indices: Rows) -> Rows:
        """The order of the members' data in the archive."""
        members = np.frombuffer(self._members, f"<i8,V{_MEMBER.size - 8}")
        return np.argsort(members["f0"][indices], kind="stable")


def _is_dicom_inside(file: IO[bytes], name: bytes, member: ZipMember) -> bool:
    """Whether a member without an image suffix starts like DICOM; False if it cannot be read."""
    if not may_be_dicom_path(name) or member.flags & _ENCRYPTED:
        return False
    try:
        file.seek(member.offset)
        magic, n_name, n_extra = _LOCAL.unpack(file.read(_LOCAL.size))
        file.seek(n_name + n_extra, 1)
        data = file.read(min(member.packed, _N_START))
        if member.method == zipfile.ZIP_DEFLATED:
            data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, DICOM_START)
    except (OSError, OverflowError, ValueError, struct.error, zlib.error):
        return False
    return bool(magic == b"PK\3\4") and is_dicom(data)


def _unpack(data: bytes, size: int, method: int) -> bytes:
    if method == zipfile.ZIP_DEFLATED:
        return inflate(data, size)
    if method != zipfile.ZIP_STORED:
        raise ValueError(f"compression method {method} is not supported, only stored and deflated")
    if len(data) != size:
        raise ValueError(f"{size} bytes promised, {len(data)} stored")
    return data
