"""The index of an archive as bytes for the cache. Bytes from the cache are checked, not trusted."""

import hashlib
import json
import os
import struct
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mixmood.data.files.names import Names

FORMAT = b"mixmood archive index 2\n"
REST_NS = 2 * 10**9
"""A file that changed less than this ago may change again within the same tick of its clock."""

_COUNTS = struct.Struct("<QQ")


@dataclass(frozen=True)
class ArchiveIndex:
    """The names of the images of an archive, and the offsets and sizes of their bytes."""

    names: Names
    offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]
    passed_over: dict[str, int] = field(default_factory=dict)
    """The number of files that are not images, by suffix."""

    def to_bytes(self, stamp: bytes) -> bytes:
        """The index and the stamp of its archive as bytes."""
        block, ends = self.names.parts()
        columns = (ends.astype("<i8"), self.offsets.astype("<i8"), self.sizes.astype("<i8"))
        counts = _COUNTS.pack(len(self.names), len(block))
        # After the fields of version 0.1.0; absent if there are no such files.
        others = json.dumps(self.passed_over).encode() if self.passed_over else b""
        parts = (column.tobytes() for column in columns)
        return b"".join([FORMAT, stamp, counts, *parts, block, others])

    @classmethod
    def from_bytes(cls, data: bytes, stamp: bytes, n_bytes: int) -> "ArchiveIndex | None":
        """The index; None if it belongs to another archive or is not valid.

        Args:
            data: The bytes from the cache.
            stamp: The stamp of the archive now.
            n_bytes: The length of the archive's content; no image may end after it.
        """
        head = FORMAT + stamp
        start = len(head) + _COUNTS.size
        if not data.startswith(head) or len(data) < start:
            return None
        n_images, n_block = _COUNTS.unpack_from(data, len(head))
        end = start + 24 * n_images + n_block
        if not n_images or len(data) < end:
            return None
        passed_over = _counts(data[end:])
        if passed_over is None:
            return None
        columns = np.frombuffer(data, "<i8", 3 * n_images, start).astype(np.int64)
        ends, offsets, sizes = columns.reshape(3, n_images)
        lengths = np.diff(ends, prepend=0)
        # In this order no difference can overflow: first the ends, then the sizes, then offsets.
        if ends.min() < 0 or lengths.min() < 1 or ends[-1] != n_block:
            return None
        if min(offsets.min(), sizes.min()) < 0 or sizes.max() > n_bytes:
            return None
        if (offsets > n_bytes - sizes).any():
            return None
        names = Names(data[start + 24 * n_images : end], ends)
        return cls(names, offsets, sizes, passed_over)


def _counts(data: bytes) -> dict[str, int] | None:
    """The number of files that were passed over, by suffix; None if the bytes are not valid."""
    if not data:
        return {}
    try:
        counts = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(counts, dict) or not all(type(n) is int and n > 0 for n in counts.values()):
        return None
    return counts


def archive_key(path: Path) -> bytes:
    """The cache key of an archive's index: one for each path, so that a new index replaces it."""
    return hashlib.blake2b(FORMAT + os.fsencode(path), digest_size=20).digest()


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
