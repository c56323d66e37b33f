"""A lock between processes, which the system frees when its holder dies."""

import sqlite3
from pathlib import Path

TAKE = "BEGIN EXCLUSIVE"
LOOK = "SELECT count(*) FROM sqlite_master"
"""Only reads: a process that takes the lock at this moment does not fail."""


def hold(path: Path, statement: str = TAKE, patience_s: float = 0.0) -> sqlite3.Connection | None:
    """The lock once it has taken a statement, to be closed; None while another process has it.

    A database because its lock works on every system. Raises sqlite3.Error where the file is no
    lock, or cannot be made.
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
