"""Random access into a gzip file, by copies of the decompressor's state at several offsets.

The package `indexed_gzip` (1.10.3) takes about the same CPU time, and is not used because files
cannot be trusted: it ends the process with a segmentation fault if the file is deleted between two
reads, does not return if a shorter one replaces it, and read 83 truncated files without an error.
"""

import threading
import zlib
from bisect import bisect_right
from contextlib import nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from mixmood.core.errors import InputError

_PIECE = 16 * 1024
_SKIP = 2**16
_MOST_CHECKPOINTS = 512
_FIRST_SPACING = 2**20
_FREE_BYTES = 2**30
_MOST_IDLE = 64
_MOST_PENDING = 2**16
MAX_EXPANSION = 200
"""How many times its size a gzip file may unpack to, if it unpacks to more than a GiB. Images are
hardly compressed by gzip; a file made to fill a disk reaches a factor of a thousand."""


class SeekableGzip:
    """A gzip file that can be read at any offset; it is unpacked only as far as needed.

    Reading beyond all earlier reads stores copies of the decompressor's state (about 45 kB each) at
    regular distances. A later read starts from the nearest copy before its offset, or where an
    earlier read ended. Of more than 512 copies every second one is dropped: memory stays below
    32 MB, and a later read unpacks at most 1 MiB, or 1/256 of a file of more than half a GiB.
    """

    def __init__(self, path: str | Path) -> None:
        """Start at the beginning of the file; nothing is read yet."""
        self._path, self._spacing = Path(path), _FIRST_SPACING
        self._checkpoints = [_Reader(self._path)]
        self._idle: list[_Reader] = []
        self._lock, self._new_part_lock = threading.Lock(), threading.Lock()
        self._sequential = _Reader(self._path)

    def read(self, size: int) -> bytes:
        """The next bytes of sequential reading, fewer than `size` only at the end."""
        return self._read(self._sequential, size)

    def seek(self, size: int, whence: int) -> None:
        """Skip bytes of sequential reading; only from the current offset (`whence` 1), forwards."""
        while size and (piece := self.read(min(size, 2**20))):
            size -= len(piece)

    def close(self) -> None:
        """End sequential reading."""
        self._sequential.close()

    def read_at(self, offset: int, size: int) -> bytes:
        """The bytes at an offset of the unpacked data, fewer only at its end; thread-safe."""
        # Only one thread unpacks a new part; the others then start from its checkpoints.
        with self._lock:
            is_new = offset > self._checkpoints[-1].unpacked_at + self._spacing
        with self._new_part_lock if is_new else nullcontext():
            reader = self._nearest(offset)
            try:
                while reader.reached < offset:
                    if not self._read(reader, min(offset - reader.reached, _SKIP)):
                        break
                data = self._read(reader, size) if reader.reached == offset else b""
            finally:
                reader.close()
        if len(reader.pending) <= _MOST_PENDING:
            with self._lock:
                self._idle = [*self._idle, reader][-_MOST_IDLE:]
        return data

    def _nearest(self, offset: int) -> "_Reader":
        """A reader that starts at the nearest known point at or before an offset."""
        with self._lock:
            place = bisect_right(self._checkpoints, offset, key=lambda found: found.unpacked_at)
            start = self._checkpoints[place - 1]
            before = [one for one in self._idle if start.unpacked_at < one.reached <= offset]
            if not before:
                return start.copied()
            reader = max(before, key=lambda one: one.reached)
            self._idle.remove(reader)
            return reader

    def _read(self, reader: "_Reader", size: int) -> bytes:
        while len(reader.pending) < size and (piece := reader.step()) is not None:
            reader.pending += piece
            self._add_checkpoint(reader)
        data = bytes(reader.pending[:size])
        del reader.pending[:size]
        return data

    def _add_checkpoint(self, reader: "_Reader") -> None:
        """Store a checkpoint if the last one is far enough; refuse a decompression bomb."""
        if reader.unpacked_at > most_unpacked(reader.packed_at):
            raise InputError(
                f"{self._path} unpacks to more than {MAX_EXPANSION} times its size: it looks made "
                "to fill memory or disk. Unpack it yourself if you trust it."
            )
        with self._lock:
            distance = reader.unpacked_at - self._checkpoints[-1].unpacked_at
            if distance < self._spacing or reader.state.eof:
                return
            self._checkpoints.append(reader.copied())
            if len(self._checkpoints) > _MOST_CHECKPOINTS:
                self._checkpoints = self._checkpoints[::2]
                self._spacing *= 2


class _Reader:
    """Unpacks the file from front to back; copies of it are the checkpoints."""

    def __init__(self, path: Path) -> None:
        self.unpacked_at = self.packed_at = 0
        self.state: Any = zlib.decompressobj(31)
        self.pending = bytearray()
        self._path = path
        self._file: BinaryIO | None = None

    @property
    def reached(self) -> int:
        """The offset in the unpacked data of the next byte to return."""
        return self.unpacked_at - len(self.pending)

    def step(self) -> bytes | None:
        """The next unpacked piece, possibly empty, at most 16 MiB; None at the end."""
        if self._file is None:
            self._file = self._path.open("rb")
            self._file.seek(self.packed_at)
        piece = self._file.read(_PIECE)
        self.packed_at += len(piece)
        if not piece:
            if self.state.eof or self.packed_at == 0:
                return None
            raise EOFError("the compressed data ends early")
        data = b""
        while piece:
            if self.state.eof:
                # A gzip file may have several members; zeros may follow the last one.
                piece = piece.lstrip(b"\0")
                if not piece:
                    break
                self.state = zlib.decompressobj(31)
            data += self.state.decompress(piece)
            piece = self.state.unused_data
        self.unpacked_at += len(data)
        return data

    def copied(self) -> "_Reader":
        """Another reader, behind all that this one has unpacked."""
        reader = _Reader(self._path)
        reader.unpacked_at, reader.packed_at = self.unpacked_at, self.packed_at
        reader.state = self.state.copy()
        return reader

    def close(self) -> None:
        """Close the packed file; the next step opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None


def most_unpacked(n_packed: int) -> int:
    """The largest allowed size of the unpacked data of so many bytes of a gzip file."""
    return max(_FREE_BYTES, MAX_EXPANSION * n_packed)
