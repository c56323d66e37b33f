"""One SQLite file for all processes of a user, whose failure never stops a run.

The file is only a cache: where it cannot be used, work goes on without it. `warnings` says what
went wrong.
"""

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from mixmood.core.errors import reason
from mixmood.core.listener import Listener

LONGEST_WAIT_S = 30.0
BROKEN = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
FAILURES = (sqlite3.Error, UnicodeDecodeError, MemoryError)
"""Errors that a damaged file raises; SQLite's message may quote bytes that are not text."""

T = TypeVar("T")


class CacheFile:
    """A database that is set aside when it is damaged and not used when it cannot be opened.

    It may be used by any number of threads and processes. A crash at any point leaves it valid.
    """

    def __init__(self, path: Path, schema: str, listener: Listener) -> None:
        """Open or make the file; if that fails, stay closed and warn `listener`."""
        self.path = path
        self.warnings: list[str] = []
        self._listener = listener
        self._schema = schema
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        with self._lock:
            self._open()

    @property
    def is_open(self) -> bool:
        """Whether the file can be used."""
        return self._db is not None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._drop_connection()

    def __enter__(self) -> Self:
        """Enter a block that closes the file at its end."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()

    def _attempt(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """The result of `work`, or `otherwise` if the file cannot be used."""
        with self._lock:
            if self._db is None:
                return otherwise
            try:
                return work(self._db)
            except FAILURES as error:
                self._handle(error)
                return otherwise

    def _open(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = _connect(self.path, self._schema)
        except FAILURES as error:
            self._handle(error)
        except OSError as error:
            self._give_up(reason(error))

    def _handle(self, error: Exception) -> None:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        is_broken = code in BROKEN or isinstance(error, UnicodeDecodeError)
        # Only once: a new file that is damaged at once means a broken disk.
        if is_broken and not self.warnings:
            self._set_aside(error)
        else:
            self._give_up(str(error))

    def _set_aside(self, error: Exception) -> None:
        self._drop_connection()
        aside = aside_of(self.path)
        self._warn(
            f"The feature cache {self.path} is damaged ({error}); it was set aside as "
            f"{aside.name} and a new one begun."
        )
        try:
            self.path.replace(aside)
            for suffix in ("-wal", "-shm"):
                # A log left behind would be replayed into the new file.
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        except OSError as failure:
            self._give_up(reason(failure))
        else:
            self._open()

    def _give_up(self, why: str) -> None:
        self._drop_connection()
        self._warn(
            f"The feature cache {self.path} cannot be used ({why}); going on without it. "
            "Choose another directory with --cache DIR or MIXMOOD_CACHE."
        )

    def _warn(self, message: str) -> None:
        self.warnings.append(message)
        self._listener.warn(message)

    def _drop_connection(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


def aside_of(path: Path) -> Path:
    """The path to which a damaged file is moved."""
    return path.with_name(f"{path.name}.damaged")


def file_size(db: sqlite3.Connection) -> int:
    """The bytes that the file takes on disk."""
    n_pages, page_bytes = (
        int(db.execute(f"PRAGMA {word}").fetchone()[0]) for word in ("page_count", "page_size")
    )
    return n_pages * page_bytes


def _connect(path: Path, schema: str) -> sqlite3.Connection:
    db = sqlite3.connect(
        path, timeout=LONGEST_WAIT_S, isolation_level=None, check_same_thread=False
    )
    try:
        # Must come before the first table; lets the file shrink again after an eviction.
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        db.execute("PRAGMA journal_mode = WAL")
        # Safe against a killed process; a power cut may cost the last rows but not the file.
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA journal_size_limit = 16777216")
        db.executescript(schema)
    except FAILURES:
        db.close()
        raise
    return db
