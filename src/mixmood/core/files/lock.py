"""A lock between processes, which is released when its process ends."""

import sqlite3
from pathlib import Path

TAKE = "BEGIN EXCLUSIVE"
LOOK = "SELECT count(*) FROM sqlite_master"
"""Only checks whether the lock is free: another process can take it at the same time."""


def hold(path: Path, statement: str = TAKE, patience_s: float = 0.0) -> sqlite3.Connection | None:
    """A connection that holds the lock until it is closed; None if another process holds it.

    SQLite is used because its locks work on every system. Raises sqlite3.Error where the file is
    not such a lock, or cannot be made.

    Args:
        path: The file of the lock.
        statement: TAKE or LOOK.
        patience_s: How long to wait for the lock.
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
