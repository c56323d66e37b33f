"""A lock keeps others out until its holder is done."""

import sqlite3
from contextlib import closing

import pytest

from mixmood.core.files import LOOK, TAKE, hold


def test_only_one_can_hold_it(tmp_path):
    path = tmp_path / "lock"
    with closing(hold(path)):
        assert hold(path) is None
        assert hold(path, LOOK) is None
        assert hold(path, TAKE, patience_s=0.05) is None
    with closing(hold(path)) as again:
        assert again is not None


def test_looking_does_not_keep_others_out(tmp_path):
    path = tmp_path / "lock"
    with closing(hold(path, LOOK)), closing(hold(path)) as taken:
        assert taken is not None


def test_a_file_that_is_no_lock_is_an_error(tmp_path):
    path = tmp_path / "lock"
    path.write_bytes(b"something else, and long enough to be looked at" * 9)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        hold(path)


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(sqlite3.OperationalError, match="unable to open"):
        hold(tmp_path / "no" / "lock")
