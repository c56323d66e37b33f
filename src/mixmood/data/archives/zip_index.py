"""The central directory (table of contents) of a zip archive.

The standard library makes an object of 800 bytes for each member: a million members would take a
minute and most of a gigabyte before the first image is read.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

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
