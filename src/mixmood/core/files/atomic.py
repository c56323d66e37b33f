"""Writing files so that a crash never leaves an incomplete one."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import IO

from mixmood.core.errors import OutputError, reason

_STREAMS = (1, 2)
"""The file descriptors of this process's stdout and stderr."""


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
