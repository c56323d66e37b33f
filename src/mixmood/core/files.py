"""Files: written whole or not at all, read without trusting sizes, locked between processes."""

import csv
import json
import os
import secrets
import sqlite3
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

from mixmood.core.errors import (
    InputError,
    OutputError,
    UnreadableImageError,
    errors_as,
    needing,
    reason,
)

_STREAMS = (1, 2)  # the file descriptors of this process's stdout and stderr


def write_atomic(path: str | Path, content: bytes | str) -> None:
    """Write a whole file or nothing; see `atomic_file`."""
    data = content.encode() if isinstance(content, str) else content
    with atomic_file(path) as file:
        file.write(data)


@contextmanager
def atomic_file(path: str | Path) -> Iterator[IO[bytes]]:
    """A file that is complete at the end, or unchanged if anything fails.

    It is written under a temporary name beside the file and renamed over it. A symbolic link
    stays; its target is replaced. A path that is not a regular file, such as /dev/null or a pipe,
    and this process's own output are written to directly.
    """
    target = Path(path)
    try:
        with _written_directly(target) if _is_stream(target) else _replaced(target) as file:
            yield file
    except OSError as error:
        raise OutputError(f"Cannot write {target}: {reason(error)}.") from error


def sweep(folder: Path, *names: str) -> None:
    """Remove temporary files of killed processes; no other process may write to the folder."""
    for name in names:
        for leftover in folder.glob(f".{escape(name)}.*"):
            leftover.unlink(missing_ok=True)


def check_writable(path: str | Path) -> None:
    """Refuse an output path that cannot be written, before any work is done for it."""
    target = Path(path)
    if target.is_dir():
        raise OutputError(f"Cannot write {target}: it is a directory. Name a file in it.")
    folder = Path(os.path.realpath(target)).parent
    if not folder.is_dir():
        raise OutputError(
            f"Cannot write {target}: the directory {folder} does not exist. Make it first."
        )
    touched = [target] if _is_stream(target) else [folder, target if target.exists() else folder]
    if not all(os.access(place, os.W_OK) for place in touched):
        raise OutputError(f"Cannot write {target}: permission denied. Choose another place.")


@contextmanager
def _replaced(target: Path) -> Iterator[IO[bytes]]:
    final = Path(os.path.realpath(target))
    temporary = final.with_name(f".{final.name}.{secrets.token_hex(4)}")
    try:
        # `open` gives the usual permissions of the user's files; mkstemp would make it private.
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(final)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _written_directly(target: Path) -> Iterator[IO[bytes]]:
    own = next((stream for stream in _STREAMS if _is_same(target, stream)), None)
    # With our own descriptor, text that is printed before or after is not overwritten.
    handle = os.open(target, os.O_WRONLY) if own is None else os.dup(own)
    with os.fdopen(handle, "wb") as file:
        yield file


def _is_stream(target: Path) -> bool:
    """Whether the target must not be replaced: not a regular file, or this process's output."""
    try:
        is_file = stat.S_ISREG(target.stat().st_mode)
    except OSError:
        return False
    return not is_file or any(_is_same(target, stream) for stream in _STREAMS)


def _is_same(target: Path, stream: int) -> bool:
    with suppress(OSError):  # the stream may be closed
        return os.path.samestat(target.stat(), os.fstat(stream))
    return False


def written(text: str, path: str | Path | None) -> str:
    """The text, after it was written to the file, if one is given."""
    if path is not None:
        write_atomic(path, text)
    return text


def expanded(path: str | Path) -> Path:
    """The path with `~` replaced by the home directory; unchanged where there is none."""
    # `Path.expanduser` would raise; here such a path is simply one that does not exist.
    return Path(os.path.expanduser(path))  # noqa: PTH111


def own_place(find: Callable[[str], str]) -> Path | None:
    """The directory that `find` gives for mixmood; None for a user without a home directory."""
    try:
        return Path(find("mixmood")).expanduser()
    except RuntimeError:
        return None


def make_folder(path: Path, advice: str = "Choose another place.") -> Path:
    """The folder, made with its parents if it does not exist; OutputError if that fails."""
    with errors_as(OutputError, f"Cannot make the folder {path}", advice):
        path.mkdir(parents=True, exist_ok=True)
    return path


MAX_FILE_BYTES = 512 * 2**20  # the largest image file, stored or unpacked; a photo has about 10 MiB

DEFLATE_LIMIT = 1032  # one byte of deflate data unpacks to at most this: 258 bytes in two bits

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_image_file(path: str | bytes, where: str) -> bytes:
    """The bytes of an image file; UnreadableImageError if it is gone, too large or not plain."""
    with errors_as(UnreadableImageError, f"{where}: cannot be read"):
        # Without blocking, and checked first: reading a FIFO would block for ever.
        handle = os.open(path, _FLAGS)
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise UnreadableImageError(f"{where}: not a plain file.")
            check_size(status.st_size, where)
            with os.fdopen(handle, "rb", closefd=False) as file:
                return file.read(status.st_size)
        finally:
            os.close(handle)


def read_at(path: str | Path, offset: int, size: int, where: str) -> bytes:
    """Exactly `size` bytes of a file from `offset` on; UnreadableImageError if they are not there.

    The file is opened each time, so that no handle is shared between threads or processes. A file
    that shrinks meanwhile gives an error; with a memory map it would end the process.
    """
    with errors_as(UnreadableImageError, f"{where}: cannot be read"), Path(path).open("rb") as file:
        file.seek(offset)
        data = file.read(size)
    if len(data) != size:
        raise UnreadableImageError(f"{where}: {size} bytes expected, but the file ends before.")
    return data


def check_size(size: int, where: str) -> None:
    """Refuse an image file of more than MAX_FILE_BYTES."""
    if size > MAX_FILE_BYTES:
        raise UnreadableImageError(
            f"{where}: {size} bytes is more than the {MAX_FILE_BYTES} an image file may have."
        )


def inflate(data: bytes, size: int) -> bytes:
    """Unpacked deflate data, `size` bytes and never more; ValueError if it has another size."""
    unpack = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        # Asking for one byte more shows a wrong size without unpacking all of it.
        result = unpack.decompress(data, size + 1)
    except zlib.error as error:
        raise ValueError(f"broken compressed data: {error}") from error
    if len(result) != size:
        raise ValueError(f"the compressed data does not unpack to the {size} bytes promised")
    return result


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as CSV; a text that a spreadsheet would run as a formula gets a leading quote.

    >>> csv_text(["name"], [["=1+1"], ["-5"], [-5]])
    "name\\n'=1+1\\n'-5\\n-5\\n"
    """
    lines: list[str] = []
    # `csv` quotes only the characters of its own line ending. With "\n" alone, a "\r" in a name
    # would begin a new row, which could begin with a formula.
    writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator="\r\n")
    writer.writerows([inert(value) for value in row] for row in (columns, *rows))
    return "".join(line.removesuffix("\r\n") + "\n" for line in lines)


def data_frame(rows: Sequence[Mapping[str, object]]) -> Any:
    """A table of pandas with one line for each row."""
    with needing("A table of pandas", "hub"):
        import pandas
    return pandas.DataFrame(list(rows))


def inert(value: object) -> object:
    """The value, with a leading quote where a spreadsheet would run it as a formula."""
    is_formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if is_formula else value


TAKE = "BEGIN EXCLUSIVE"
LOOK = "SELECT count(*) FROM sqlite_master"  # another process may take the lock at the same time


def hold(path: Path, statement: str = TAKE, patience_s: float = 0.0) -> sqlite3.Connection | None:
    """A connection that holds the lock until it is closed; None if another process holds it.

    SQLite is used because its locks work on every system. Raises sqlite3.Error where the file is
    not such a lock, or cannot be made. `statement` is TAKE or LOOK.
    """
    lock = sqlite3.connect(path, timeout=patience_s, isolation_level=None)
    try:
        lock.execute(statement).fetchone()
    except sqlite3.Error as error:
        lock.close()
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
            return None
        raise
    return lock


def read_json(path: Path, advice: str) -> dict[str, Any]:
    """The object in a file of ours; a damaged file is refused with the advice."""
    with errors_as(InputError, f"Cannot read {path}", advice):
        content = json.loads(path.read_bytes())
        if not isinstance(content, dict):
            raise ValueError("it is no JSON object")
        return content
