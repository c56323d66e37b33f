"""The offsets of the members of a tar archive, found by reading its headers one after the other.

The standard library needs 40 microseconds and a kilobyte for each member, treats a damaged header
as the end of the archive, and can follow a forged header in an endless loop. This reader does not.
"""

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from mixmood.data.archives.gzip_access import SeekableGzip

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


class Stream(Protocol):
    """A stream that is read from front to back."""

    def read(self, size: int, /) -> bytes:
        """The next bytes, fewer only at the end."""

    def skip(self, size: int, /) -> None:
        """Leave out so many bytes; ValueError if there are fewer."""


class PlainStream:
    """A file from front to back; skipped data are not read."""

    def __init__(self, path: Path) -> None:
        """Start at the beginning of the file."""
        self._file = path.open("rb")
        self._length = self._file.seek(0, 2)
        self._file.seek(0)

    def read(self, size: int) -> bytes:
        """The next bytes, fewer only at the end."""
        return self._file.read(size)

    def skip(self, size: int) -> None:
        """Leave out so many bytes; ValueError if there are fewer."""
        if self._file.seek(size, 1) > self._length:
            raise ValueError("it is truncated")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class PackedStream:
    """The unpacked content of a gzip file from front to back."""

    def __init__(self, packed: SeekableGzip) -> None:
        """Start where sequential reading of `packed` is."""
        self._packed = packed

    def read(self, size: int) -> bytes:
        """The next bytes, fewer only at the end."""
        return self._packed.read(size)

    def skip(self, size: int) -> None:
        """Leave out so many bytes; ValueError if there are fewer."""
        while size:
            piece = self._packed.read(min(size, 2**20))
            if not piece:
                raise ValueError("it is truncated")
            size -= len(piece)


def read_tar_members(
    stream: Stream, is_looked_into: Callable[[bytes], bool] = lambda name: False
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


def _take(stream: Stream, size: int) -> bytes:
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


def _skip_sparse_map(stream: Stream, block: bytes) -> int:
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
