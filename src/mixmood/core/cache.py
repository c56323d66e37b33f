"""The cache of features and archive indexes: one SQLite file for all processes of a user."""

import os
import re
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import InputError, OptionError, reason
from mixmood.core.files import expanded, own_place
from mixmood.core.listener import Listener, Recorder, Silent

LONGEST_WAIT_S = 30.0
BROKEN = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
# Errors that a damaged file raises; SQLite's message may quote bytes that are not text.
FAILURES = (sqlite3.Error, UnicodeDecodeError, MemoryError)
CLOSED = sqlite3.connect(":memory:")  # refuses everything, as a damaged file may
CLOSED.close()
FILE_NAME = "features-v1.sqlite"
DEFAULT_LIMIT_BYTES = 2 * 1024**3
INDEX_SHARE = 8  # indexes may take an eighth of the limit: features cost more to compute
# The date of an entry is renewed only after this time, so that most reads write nothing.
RENEWAL_S = 3600
SCHEMA = """
-- Must come before the first table; lets the file shrink again after an eviction.
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
-- Safe against a killed process; a power cut may cost the last rows but not the file.
PRAGMA synchronous = NORMAL;
PRAGMA journal_size_limit = 16777216;
CREATE TABLE IF NOT EXISTS features (
    key BLOB NOT NULL UNIQUE, row BLOB NOT NULL, checksum INTEGER NOT NULL, used INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS by_use ON features (used);
CREATE TABLE IF NOT EXISTS archives (
    key BLOB NOT NULL UNIQUE, found BLOB NOT NULL, checksum INTEGER NOT NULL, used INTEGER NOT NULL
);
"""

FeatureRow = NDArray[np.float32]


@dataclass(frozen=True)
class CacheInfo:
    """The size of a cache, and what it holds."""

    path: Path
    n_images: int
    n_archives: int
    n_bytes: int
    limit_bytes: int


class FeatureCache(AbstractContextManager["FeatureCache"]):
    """A map from keys (content and network, hashed) to rows of float32, and indexes of archives.

    Any number of threads and processes may use the file at once. A crash at any point leaves it
    valid and loses at most the rows of the last `put`. Beyond the limit, the entries that were not
    used for the longest time are removed. A damaged file is set aside and a new one begun; where
    the file cannot be used, work goes on without it.
    """

    def __init__(
        self,
        directory: str | Path,
        *,
        listener: Listener | None = None,
        limit_bytes: int | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Open or make the file in `directory`; if that fails, stay closed and warn `listener`."""
        self.path = Path(directory) / FILE_NAME
        self._aside = self.path.with_name(f"{FILE_NAME}.damaged")
        self.limit_bytes = limit_from_environment() if limit_bytes is None else limit_bytes
        self.warnings: list[str] = []
        self._listener, self._now = listener or Silent(), now
        self._touched: set[bytes] = set()
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        with self._lock:
            self._open()

    @property
    def is_open(self) -> bool:
        """Whether the file can be used."""
        return self._db is not None

    def close(self) -> None:
        """Renew the dates of rows that were found, and close the file."""
        self.put({})
        with self._lock:
            self._drop_connection()

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def get(self, keys: Iterable[bytes]) -> dict[bytes, FeatureRow]:
        """The rows that are in the cache, by key; a damaged row counts as absent."""
        found: dict[bytes, FeatureRow] = {}
        query = "SELECT row, checksum, used FROM features WHERE key = ?"
        # One transaction: outside of it, every query would lock and unlock the file.
        with self._database() as db, db:
            db.execute("BEGIN")
            for key in keys:
                hit = db.execute(query, (key,)).fetchone()
                if hit is not None and _is_whole(*hit):
                    found[key] = np.frombuffer(hit[0], np.float32)
                    if hit[2] < self._now() - RENEWAL_S:
                        self._touched.add(key)
        return found

    def put(self, rows: Mapping[bytes, FeatureRow]) -> None:
        """Keep rows, all or none of them; also renew the dates of rows that were found before."""
        if not rows and not self._touched:
            return
        date = int(self._now())
        packed = ((key, np.float32(row).tobytes()) for key, row in rows.items())
        values = ((key, row, zlib.crc32(row), date) for key, row in packed)
        with self._database() as db:
            # Within the lock: other threads find rows, and touch them, at the same time.
            touched = [(date, key) for key in self._touched]
            with db:
                db.execute("BEGIN IMMEDIATE")
                db.executemany("INSERT OR REPLACE INTO features VALUES (?, ?, ?, ?)", values)
                db.executemany("UPDATE features SET used = ? WHERE key = ?", touched)
            self._touched.clear()
            self._evict(db)

    def index_of(self, archive: bytes) -> bytes | None:
        """The index kept under this key; None if there is none or it is damaged."""
        found = None
        with self._database() as db:
            query = "SELECT found, checksum FROM archives WHERE key = ?"
            hit = db.execute(query, (archive,)).fetchone()
            if hit is not None and isinstance(hit[0], bytes) and zlib.crc32(hit[0]) == hit[1]:
                found = hit[0]
                renewed = int(self._now()), archive, int(self._now() - RENEWAL_S)
                db.execute("UPDATE archives SET used = ? WHERE key = ? AND used < ?", renewed)
        return found

    def keep_index(self, archive: bytes, index: bytes) -> None:
        """Keep the index of an archive, unless it is too large; the oldest make room for it."""
        most_bytes, date = self.limit_bytes // INDEX_SHARE, int(self._now())
        if len(index) > most_bytes:
            return
        with self._database() as db:
            with db:
                db.execute("BEGIN IMMEDIATE")
                db.execute("UPDATE archives SET used = ? WHERE used > ?", (date, date))
                row = archive, index, zlib.crc32(index), date
                db.execute("INSERT OR REPLACE INTO archives VALUES (?, ?, ?, ?)", row)
                db.execute(
                    "DELETE FROM archives WHERE rowid IN (SELECT rowid FROM (SELECT rowid, "
                    "sum(length(found)) OVER (ORDER BY used DESC, rowid DESC) AS total "
                    "FROM archives) WHERE total > ?)",
                    (most_bytes,),
                )
            self._evict(db)

    def info(self) -> CacheInfo:
        """How many images and archives the file holds, its size and its limit."""
        n_images = n_archives = n_bytes = 0
        with self._database() as db:
            query = "SELECT (SELECT count(*) FROM features), (SELECT count(*) FROM archives)"
            n_images, n_archives = db.execute(query).fetchone()
            n_bytes = file_size(db)
        return CacheInfo(self.path, n_images, n_archives, n_bytes, self.limit_bytes)

    def clear(self) -> None:
        """Remove all entries; other processes may use the file at the same time."""
        with self._database() as db:
            db.execute("DELETE FROM features")
            db.execute("DELETE FROM archives")
            db.execute("VACUUM")
        self._aside.unlink(missing_ok=True)

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        """The database for one thread; a block that it cannot serve ends without an error."""
        with self._lock:
            try:
                yield self._db or CLOSED
            except FAILURES as error:
                if self._db is not None:
                    self._handle(error)

    def _open(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(
                self.path, timeout=LONGEST_WAIT_S, isolation_level=None, check_same_thread=False
            )
            self._db.executescript(SCHEMA)
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
        self._drop_connection(
            f"The feature cache {self.path} is damaged ({error}); it was set aside as "
            f"{self._aside.name} and a new one begun."
        )
        try:
            self.path.replace(self._aside)
            for suffix in ("-wal", "-shm"):
                # A log left behind would be replayed into the new file.
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        except OSError as failure:
            self._give_up(reason(failure))
        else:
            self._open()

    def _give_up(self, why: str) -> None:
        self._drop_connection(
            f"The feature cache {self.path} cannot be used ({why}); going on without it. "
            "Choose another directory with --cache DIR or MIXMOOD_CACHE."
        )

    def _drop_connection(self, *warnings: str) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None
        for message in warnings:
            self.warnings.append(message)
            self._listener.warn(message)

    def _evict(self, db: sqlite3.Connection) -> None:
        # Repeated, because a page of the file is freed only with its last row.
        while (size := file_size(db)) > self.limit_bytes:
            # Rows with dates in the future, from a wrong clock, would never be removed.
            date = int(self._now())
            db.execute("UPDATE features SET used = ? WHERE used > ?", (date, date))
            n_images = db.execute("SELECT count(*) FROM features").fetchone()[0]
            if n_images == 0:
                return
            # Down to 90 % of the limit, so that not every further row causes an eviction.
            share = 1 - 0.9 * self.limit_bytes / size
            db.execute(
                "DELETE FROM features WHERE rowid IN "
                "(SELECT rowid FROM features ORDER BY used, rowid LIMIT ?)",
                (int(n_images * share) + 1,),
            )
            # `execute` would run a single step and free one page.
            db.executescript("PRAGMA incremental_vacuum")


def file_size(db: sqlite3.Connection) -> int:
    """The bytes that the file takes on disk."""
    size = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
    return int(db.execute(size).fetchone()[0])


def open_cache(
    where: str | Path | None = "default", listener: Listener | None = None
) -> FeatureCache | None:
    """The cache in a directory, or the user's own ("default"); None for "none" or None."""
    directory = cache_directory(where)
    return None if directory is None else FeatureCache(directory, listener=listener)


def cache_directory(where: str | Path | None = "default") -> Path | None:
    """That directory, or MIXMOOD_CACHE, or the system's; None for "none", or without a home."""
    from platformdirs import user_cache_dir

    if where != "default":
        return None if where in (None, "none") else Path(where)
    chosen = os.environ.get("MIXMOOD_CACHE")
    if chosen == "none":
        return None
    return expanded(chosen) if chosen else own_place(user_cache_dir)


def limit_from_environment() -> int:
    """The size limit in bytes: MIXMOOD_CACHE_MB if set, two gigabytes if not."""
    text = os.environ.get("MIXMOOD_CACHE_MB")
    if text is None:
        return DEFAULT_LIMIT_BYTES
    # The length is checked first: Python refuses numbers of thousands of digits.
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) < 1:
        raise OptionError(
            f"MIXMOOD_CACHE_MB must be a whole number of megabytes, from 1 to 999999999; "
            f"got '{text[:20]}'."
        )
    return int(text) * 1024**2


def _is_whole(row: object, checksum: object, used: object) -> bool:
    """Whether a row is undamaged; SQLite allows any type in any column."""
    return (
        isinstance(row, bytes)
        and isinstance(used, int)
        and len(row) % np.float32().itemsize == 0
        and zlib.crc32(row) == checksum
    )


def cache_info(cache: str | Path | None = None) -> CacheInfo:
    """Where the cache is, what it holds and how large it may grow; the user's own if None."""
    with _existing(cache) as store:
        return store.info()


def clear_cache(cache: str | Path | None = None) -> CacheInfo:
    """Delete the content of the cache, the user's own if None; returns a description before."""
    with _existing(cache) as store:
        about = store.info()
        store.clear()
    return about


@contextmanager
def _existing(directory: str | Path | None) -> Iterator[FeatureCache]:
    """The cache; InputError if there is none, or it cannot be used to the end."""
    place = cache_directory() if directory is None else directory
    if place is None:
        raise InputError(
            "There is no cache: MIXMOOD_CACHE is 'none', or this user has no home directory. "
            "Name one with --cache DIR."
        )
    if not (Path(place) / FILE_NAME).exists():
        raise InputError(f"There is no cache in {place}: nothing was kept there yet.")
    with FeatureCache(place, listener=Recorder()) as store:
        yield store
        if not store.is_open:
            raise InputError(" ".join(store.warnings))
