"""Random access into a gzip file by keeping copies of the decompressor along the way."""

import threading
import zlib
from bisect import bisect_right
from pathlib import Path
from typing import Any, NamedTuple

from mixmood.core.errors import InputError

_PIECE = 16 * 1024
_MOST_CHECKPOINTS = 512
_FIRST_SPACING = 2**20
_FREE_BYTES = 2**30
MAX_EXPANSION = 200
"""A gzip file past its first GiB may be no more than so many times as large when unpacked; images
hardly shrink under gzip at all, and a file made to fill a disk reaches a thousand."""


class _Checkpoint(NamedTuple):
    unpacked_at: int
    packed_at: int
    state: Any


class SeekableGzip:
    """A gzip file unpacked once from front to back and from then on readable at any place.

    The first pass keeps a copy of the decompressor's state (about 45 kB) every so often; a later
    read starts from the nearest one before. At most 512 copies are kept: once there are more,
    every second one is dropped. So memory stays below 25 MB whatever the size of the file, and a
    read costs the unpacking of 1 MiB, or of 1/256 of a file beyond half a GiB, at most.
    """

    def __init__(self, path: str | Path) -> None:
        """Stand at the front of the file; the first pass is made by calls of `read`."""
        self._path = Path(path)
        self._spacing = _FIRST_SPACING
        self._checkpoints = [_Checkpoint(0, 0, zlib.decompressobj(31))]
        self._pending = bytearray()
        self._pass = _Pass(self._path, self._checkpoints[0])
        self._lock = threading.Lock()

    def read(self, size: int) -> bytes:
        """The next bytes of the first pass, fewer than `size` only at the end."""
        while len(self._pending) < size and (piece := self._pass.step()) is not None:
            self._pending += piece
            self._remember()
        data = bytes(self._pending[:size])
        del self._pending[:size]
        return data

    def close(self) -> None:
        """End the first pass."""
        self._pass.close()

    def read_at(self, offset: int, size: int) -> bytes:
        """The bytes at a place of the unpacked data, fewer only at its end; for any thread."""
        places = [checkpoint.unpacked_at for checkpoint in self._checkpoints]
        start = self._checkpoints[bisect_right(places, offset) - 1]
        with self._lock:
            start = start._replace(state=start.state.copy())
        walk = _Pass(self._path, start)
        data = bytearray()
        skip = offset - start.unpacked_at
        try:
            while len(data) < skip + size and (piece := walk.step()) is not None:
                data += piece
                drop = min(skip, len(data))
                del data[:drop]
                skip -= drop
        finally:
            walk.close()
        return bytes(data[:size])

    def _remember(self) -> None:
        here = self._pass
        if here.unpacked_at > max(_FREE_BYTES, MAX_EXPANSION * here.packed_at):
            raise InputError(
                f"{self._path} unpacks to more than {MAX_EXPANSION} times its size: it looks made "
                "to fill memory or disk. Unpack it yourself if you trust it."
            )
        if here.unpacked_at - self._checkpoints[-1].unpacked_at < self._spacing:
            return
        if here.state.eof:
            return
        self._checkpoints.append(here.copy())
        if len(self._checkpoints) > _MOST_CHECKPOINTS:
            self._checkpoints = self._checkpoints[::2]
            self._spacing *= 2


class _Pass:
    """One walk through the packed file from a checkpoint on."""

    def __init__(self, path: Path, start: _Checkpoint) -> None:
        self.unpacked_at, self.packed_at, state = start
        self.state = state.copy()
        self._file = path.open("rb")
        self._file.seek(self.packed_at)

    def step(self) -> bytes | None:
        """The next unpacked piece, perhaps empty, at most 16 MiB; None at the end."""
        piece = self._file.read(_PIECE)
        self.packed_at += len(piece)
        if not piece:
            if self.state.eof or self.packed_at == 0:
                return None
            raise EOFError("the compressed data ends early")
        data = b""
        while piece:
            if self.state.eof:
                # A gzip file may be several, one after the other; zeros may fill up the end.
                piece = piece.lstrip(b"\0")
                if not piece:
                    break
                self.state = zlib.decompressobj(31)
            data += self.state.decompress(piece)
            piece = self.state.unused_data
        self.unpacked_at += len(data)
        return data

    def copy(self) -> _Checkpoint:
        """The place reached, to start from again."""
        return _Checkpoint(self.unpacked_at, self.packed_at, self.state.copy())

    def close(self) -> None:
        """Close the packed file."""
        self._file.close()
