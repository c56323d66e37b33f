"""Writing files so that a crash never leaves half of one."""

import os
import tempfile
from glob import escape
from pathlib import Path

from mixmood.core.errors import OutputError


def write_atomic(path: str | Path, content: bytes | str) -> None:
    """Write a whole file or nothing: to a temporary name beside it, then renamed over it."""
    target = Path(path)
    data = content.encode() if isinstance(content, str) else content
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "wb") as file:
            # mkstemp makes private files; results should be as readable as any other file.
            os.fchmod(file.fileno(), 0o666 & ~_umask())
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(target)
    except OSError as error:
        raise OutputError(f"Cannot write {target}: {error.strerror or error}.") from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def sweep(folder: Path, *names: str) -> None:
    """Remove what killed processes left of these files of a folder that nobody else writes to."""
    for name in names:
        for leftover in folder.glob(f".{escape(name)}.*"):
            leftover.unlink(missing_ok=True)


def check_writable(path: str | Path) -> None:
    """Refuse an output path that cannot be written, before any work is done for it."""
    target = Path(path)
    if target.is_dir():
        raise OutputError(f"Cannot write {target}: it is a directory. Name a file in it.")
    if not target.parent.is_dir():
        raise OutputError(
            f"Cannot write {target}: the directory {target.parent} does not exist. Make it first."
        )
    existing = target if target.exists() else target.parent
    if not (os.access(target.parent, os.W_OK) and os.access(existing, os.W_OK)):
        raise OutputError(f"Cannot write {target}: permission denied. Choose another place.")


def _umask() -> int:
    # The only portable way to learn the umask is to set it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
