"""Reading files and compressed data without trusting the sizes that they claim."""

import os
import stat
import zlib
from pathlib import Path

from mixmood.core.errors import UnreadableImageError, reason

MAX_FILE_BYTES = 512 * 2**20
"""The largest image file, stored or unpacked; a photo has about 10 MiB."""

DEFLATE_LIMIT = 1032
"""The most bytes that one byte of deflate data unpacks to: 258 bytes in two bits."""

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_image_file(path: str | bytes, where: str) -> bytes:
    """The bytes of an image file; UnreadableImageError if it is gone, too large or no plain file.

    It is opened without blocking and checked first: reading a FIFO would block for ever.
    """
    try:
        handle = os.open(path, _FLAGS)
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise UnreadableImageError(f"{where}: not a plain file.")
            check_size(status.st_size, where)
            return _read_all(handle, status.st_size)
        finally:
            os.close(handle)
    except (OSError, ValueError) as error:
        raise UnreadableImageError(f"{where}: cannot be read: {reason(error)}.") from error


def _read_all(handle: int, size: int) -> bytes:
    """Up to `size` bytes; file systems in user space may give fewer at once than they have."""
    data = os.read(handle, size)
    while len(data) < size and (more := os.read(handle, size - len(data))):
        data += more
    return data


def read_at(path: str | Path, offset: int, size: int, where: str) -> bytes:
    """Exactly `size` bytes of a file from `offset` on; UnreadableImageError if they are not there.

    The file is opened each time, so that no handle is shared between threads or processes. A file
    that shrinks meanwhile gives an error; with a memory map it would end the process.
    """
    try:
        with Path(path).open("rb") as file:
            file.seek(offset)
            data = file.read(size)
    except (OSError, ValueError, OverflowError) as error:
        raise UnreadableImageError(f"{where}: cannot be read: {reason(error)}.") from error
    if len(data) != size:
        raise UnreadableImageError(f"{where}: {size} bytes expected, but the file ends before.")
    return data


def check_size(size: int, where: str) -> None:
    """Refuse an image file of more than MAX_FILE_BYTES."""
    if size > MAX_FILE_BYTES:
        raise UnreadableImageError(
            f"{where}: {size} bytes is more than the {MAX_FILE_BYTES} an image file may have."
        )


def inflate(data: bytes, size: int, wbits: int = -zlib.MAX_WBITS) -> bytes:
    """Unpacked deflate data, `size` bytes and never more; ValueError if it has another size."""
    unpack = zlib.decompressobj(wbits)
    try:
        # Asking for one byte more shows a wrong size without unpacking all of it.
        result = unpack.decompress(data, size + 1)
    except zlib.error as error:
        raise ValueError(f"broken compressed data: {error}") from error
    if len(result) != size:
        raise ValueError(f"the compressed data does not unpack to the {size} bytes promised")
    return result
