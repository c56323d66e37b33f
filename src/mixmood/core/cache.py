"""Features that were computed before, kept in one SQLite file for all processes of a user.

The file is a cache and nothing more: whatever happens to it, work goes on without it. What went
wrong is told once, in `warnings`.
"""

import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import OptionError

FILE_NAME = "features-v1.sqlite"
DEFAULT_LIMIT_BYTES = 2 * 1024**3
LONGEST_WAIT_S = 30.0
# A hit renews an entry's date only when this much time has passed: reading stays reading.
RENEWAL_S = 3600
BROKEN = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
SCHEMA = """
CREATE TABLE IF NOT EXISTS features (
    key BLOB NOT NULL UNIQUE, row BLOB NOT NULL, checksum INTEGER NOT NULL, used INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS by_use ON features (used);
"""

Row = NDArray[np.float32]
T = TypeVar("T")


@dataclass(frozen=True)
class CacheInfo:
    """What is in a cache."""

    path: Path
    n_images: int
    n_bytes: int
    limit_bytes: int


class FeatureCache:
    """A map from keys (content and network, hashed) to rows of float32, safe under threads.

    Several processes may write at once. A crash at any point loses at most the rows of the last
    `put`. Beyond its limit the file forgets what was not used for longest.
    """

    def __init__(
        self,
        directory: str | Path,
        *,
        limit_bytes: int | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Open or make the file in `directory`; if that fails, stay closed and say why."""
        self.path = Path(directory) / FILE_NAME
        self.limit_bytes = limit_from_environment() if limit_bytes is None else limit_bytes
        self.warnings: list[str] = []
        self._now = now
        self._lock = threading.Lock()
        self._touched: set[bytes] = set()
        self._db: sqlite3.Connection | None = None
        with self._lock:
            self._open()

    @property
    def is_open(self) -> bool:
        """Whether rows can be kept."""
        return self._db is not None

    def get(self, keys: Iterable[bytes]) -> dict[bytes, Row]:
        """The rows that are there, by key; a damaged row counts as absent."""
        return self._attempt(lambda db: self._get(db, list(keys)), {})

    def put(self, rows: Mapping[bytes, Row]) -> None:
        """Keep rows, all or none of them; dates of rows found earlier are renewed on the way."""
        self._attempt(lambda db: self._put(db, rows), None)

    def info(self) -> CacheInfo:
        """How many images the file holds, its size and its limit."""
        n_images, n_bytes = self._attempt(_count, 0), self._attempt(_file_size, 0)
        return CacheInfo(self.path, n_images, n_bytes, self.limit_bytes)

    def clear(self) -> None:
        """Forget everything; other processes may go on using the file meanwhile."""

        def work(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM features")
            db.execute("VACUUM")

        self._attempt(work, None)
        _aside(self.path).unlink(missing_ok=True)

    def close(self) -> None:
        """Write what is left to write and let go of the file."""
        self.put({})
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()

    def _open(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = _connect(self.path)
        except sqlite3.DatabaseError as error:
            self._handle(error)
        except OSError as error:
            self._give_up(error.strerror or str(error))

    def _attempt(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        with self._lock:
            if self._db is None:
                return otherwise
            try:
                return work(self._db)
            except sqlite3.DatabaseError as error:
                self._handle(error)
                return otherwise

    def _handle(self, error: sqlite3.DatabaseError) -> None:
        is_broken = getattr(error, "sqlite_errorcode", 0) & 0xFF in BROKEN
        # Once set aside is enough: a new file that is broken at once means a broken disk.
        if is_broken and not self.warnings:
            self._set_aside(error)
        else:
            self._give_up(str(error))

    def _set_aside(self, error: sqlite3.DatabaseError) -> None:
        self._drop_connection()
        aside = _aside(self.path)
        self.warnings.append(
            f"The feature cache {self.path} is damaged ({error}); it was set aside as "
            f"{aside.name} and a new one begun."
        )
        try:
            self.path.replace(aside)
            for suffix in ("-wal", "-shm"):
                # A log left behind would be replayed into the new file.
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        except OSError as failure:
            self._give_up(failure.strerror or str(failure))
        else:
            self._open()

    def _give_up(self, reason: str) -> None:
        self._drop_connection()
        self.warnings.append(
            f"The feature cache {self.path} cannot be used ({reason}); going on without it. "
            "Choose another directory with --cache DIR or MIXMOOD_CACHE."
        )

    def _drop_connection(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _get(self, db: sqlite3.Connection, keys: list[bytes]) -> dict[bytes, Row]:
        renew_before = self._now() - RENEWAL_S
        found: dict[bytes, Row] = {}
        with db:
            # One transaction for all keys: by itself, each would lock and unlock the file.
            db.execute("BEGIN")
            for key in keys:
                hit = db.execute(
                    "SELECT row, checksum, used FROM features WHERE key = ?", (key,)
                ).fetchone()
                if hit is None or zlib.crc32(hit[0]) != hit[1]:
                    continue
                found[key] = np.frombuffer(hit[0], np.float32)
                if hit[2] < renew_before:
                    self._touched.add(key)
        return found

    def _put(self, db: sqlite3.Connection, rows: Mapping[bytes, Row]) -> None:
        if not rows and not self._touched:
            return
        date = int(self._now())
        packed = ((key, np.float32(row).tobytes()) for key, row in rows.items())
        with db:
            db.execute("BEGIN IMMEDIATE")
            db.executemany(
                "INSERT OR REPLACE INTO features VALUES (?, ?, ?, ?)",
                ((key, row, zlib.crc32(row), date) for key, row in packed),
            )
            db.executemany(
                "UPDATE features SET used = ? WHERE key = ?",
                ((date, key) for key in self._touched),
            )
        self._touched.clear()
        self._evict(db)

    def _evict(self, db: sqlite3.Connection) -> None:
        # More than once where rows leave pages half full: those go only with their last row.
        while (size := _file_size(db)) > self.limit_bytes:
            n_images = _count(db)
            if n_images == 0:
                return
            # To nine tenths, so that not every further row pays for an eviction.
            share = 1 - 0.9 * self.limit_bytes / size
            db.execute(
                "DELETE FROM features WHERE rowid IN "
                "(SELECT rowid FROM features ORDER BY used, rowid LIMIT ?)",
                (int(n_images * share) + 1,),
            )
            # As a script: `execute` would take one step of it and free a single page.
            db.executescript("PRAGMA incremental_vacuum")


def open_cache(where: str | Path | None = "default") -> FeatureCache | None:
    """The cache in a directory; "default" is the user's own; "none" or None is no cache."""
    directory = cache_directory() if where == "default" else where
    if directory is None or directory == "none":
        return None
    return FeatureCache(directory)


def cache_directory() -> Path | None:
    """Where this user's cache is: MIXMOOD_CACHE, or the system's place for such things.

    None when MIXMOOD_CACHE says "none".
    """
    from platformdirs import user_cache_dir

    chosen = os.environ.get("MIXMOOD_CACHE") or user_cache_dir("mixmood")
    return None if chosen == "none" else Path(chosen).expanduser()


def limit_from_environment() -> int:
    """The size limit in bytes: MIXMOOD_CACHE_MB if set, two gigabytes if not."""
    text = os.environ.get("MIXMOOD_CACHE_MB")
    if text is None:
        return DEFAULT_LIMIT_BYTES
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise OptionError(
            f"MIXMOOD_CACHE_MB must be a whole number of megabytes, at least 1; got '{text}'."
        )
    return int(text) * 1024**2


def _connect(path: Path) -> sqlite3.Connection:
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
        db.executescript(SCHEMA)
    except sqlite3.DatabaseError:
        db.close()
        raise
    return db


def _count(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM features").fetchone()[0])


def _file_size(db: sqlite3.Connection) -> int:
    n_pages, page_bytes = (
        int(db.execute(f"PRAGMA {word}").fetchone()[0]) for word in ("page_count", "page_size")
    )
    return n_pages * page_bytes


def _aside(path: Path) -> Path:
    return path.with_name(f"{path.name}.damaged")
