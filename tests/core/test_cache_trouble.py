"""A feature cache in trouble: damage, no place, a full disk, killed and competing writers."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mixmood.core.cache import FILE_NAME, FeatureCache
from mixmood.core.listener import Recorder


def check_all_rows_are_right(cache, keys):
    for key, row in cache.get(keys).items():
        assert np.array_equal(row, keys[key])


def test_a_row_that_was_damaged_on_disk_counts_as_absent_and_can_be_replaced(tmp_path, keyed):
    with FeatureCache(tmp_path, listener=Recorder()) as cache:
        cache.put(keyed(range(2)))
    with sqlite3.connect(tmp_path / FILE_NAME) as db:
        db.execute("UPDATE features SET row = zeroblob(5120) WHERE key = ?", (b"key 000001",))
    db.close()
    with FeatureCache(tmp_path, listener=Recorder()) as cache:
        assert list(cache.get(keyed(range(2)))) == [b"key 000000"]
        cache.put(keyed([1]))
        assert len(cache.get(keyed(range(2)))) == 2


@pytest.mark.parametrize(
    "change",
    [
        "row = 'text'",
        "row = 5",
        "row = x'010203', checksum = 1438416925",
        "used = 'text'",
        "checksum = 'text'",
    ],
)
def test_a_row_that_someone_else_wrote_counts_as_absent(tmp_path, change):
    """SQLite keeps any type in any column; the checksum of the odd row is right."""
    with FeatureCache(tmp_path, listener=Recorder()) as cache:
        cache.put({b"key": np.ones(4, np.float32)})
        path = cache.path
    database = sqlite3.connect(path)
    database.execute(f"UPDATE features SET {change}")
    database.commit()
    database.close()
    with FeatureCache(tmp_path, listener=Recorder()) as cache:
        assert cache.get([b"key"]) == {}
        assert cache.warnings == []


def test_a_file_that_is_no_database_is_set_aside_with_a_warning(tmp_path, keyed):
    (tmp_path / FILE_NAME).write_bytes(b"this was never a cache" * 1000)
    with FeatureCache(tmp_path, listener=Recorder()) as cache:
        assert len(cache.warnings) == 1
        assert "set aside as features-v1.sqlite.damaged" in cache.warnings[0]
        cache.put(keyed(range(3)))
        assert len(cache.get(keyed(range(3)))) == 3
    assert (tmp_path / f"{FILE_NAME}.damaged").read_bytes().startswith(b"this was never")


def test_a_file_whose_schema_is_no_text_is_set_aside(tmp_path):
    """SQLite quotes the schema in its message, which Python then cannot decode."""
    with FeatureCache(tmp_path, listener=Recorder()) as cache:
        cache.put({b"key": np.ones(4, np.float32)})
        path = cache.path
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = DELETE")
    database.close()
    path.write_bytes(path.read_bytes().replace(b"CREATE INDEX by_use", b"CREATE IN\x80EX by_use"))
    with FeatureCache(tmp_path, listener=Recorder()) as cache:
        assert "is damaged" in cache.warnings[0]
        assert cache.is_open


def test_a_file_with_overwritten_pages_is_set_aside_while_in_use(tmp_path, keyed):
    with FeatureCache(tmp_path, listener=Recorder()) as cache:
        cache.put(keyed(range(500)))
    path = tmp_path / FILE_NAME
    with path.open("r+b") as file:
        file.seek(2 * 4096)
        file.write(b"\xff" * (path.stat().st_size - 3 * 4096))
    with FeatureCache(tmp_path, listener=Recorder()) as cache:
        check_all_rows_are_right(cache, keyed(range(500)))
        cache.put(keyed(range(500)))
        assert len(cache.warnings) == 1
        assert "is damaged" in cache.warnings[0]
        cache.put(keyed(range(500)))
        assert len(cache.get(keyed(range(500)))) == 500


def test_a_directory_that_cannot_be_made_means_no_cache_and_one_warning(tmp_path, keyed):
    (tmp_path / "file").write_text("in the way")
    with FeatureCache(tmp_path / "file" / "cache", listener=Recorder()) as cache:
        cache.put(keyed(range(3)))
        assert cache.get(keyed(range(3))) == {}
        assert not cache.is_open
        assert len(cache.warnings) == 1
        assert "going on without it" in cache.warnings[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_directory_means_no_cache_and_one_warning(tmp_path, keyed):
    tmp_path.chmod(0o500)
    with FeatureCache(tmp_path, listener=Recorder()) as cache:
        cache.put(keyed(range(3)))
        assert len(cache.warnings) == 1
    tmp_path.chmod(0o700)


def test_a_file_that_may_only_be_read_means_one_warning(tmp_path, keyed):
    with FeatureCache(tmp_path, listener=Recorder()) as cache:
        cache._db.execute("PRAGMA query_only = ON")
        cache.put(keyed(range(3)))
        cache.put(keyed(range(3)))
        assert len(cache.warnings) == 1
        assert "attempt to write a readonly database" in cache.warnings[0]


def test_a_full_disk_means_one_warning_and_the_rows_before_stay(tmp_path, keyed):
    with FeatureCache(tmp_path, listener=Recorder()) as cache:
        cache.put(keyed(range(10)))
        cache._db.execute("PRAGMA max_page_count = 40")
        cache.put(keyed(range(10, 200)))
        cache.put(keyed(range(200, 400)))
        assert len(cache.warnings) == 1
        assert "full" in cache.warnings[0]
    with FeatureCache(tmp_path, listener=Recorder()) as cache:
        assert len(cache.get(keyed(range(400)))) == 10


WRITER = """
import sys
sys.path.insert(0, {here!r})
from conftest import keyed_rows
from mixmood.core.cache import FeatureCache
with FeatureCache(sys.argv[1]) as cache:
    for start in range(int(sys.argv[2]), int(sys.argv[3]), 16):
        cache.put(keyed_rows(range(start, min(start + 16, int(sys.argv[3])))))
        print(start, flush=True)
    assert not cache.warnings, cache.warnings
"""


def writer(directory, first, last):
    code = WRITER.format(here=str(Path(__file__).parent))
    return subprocess.Popen(
        [sys.executable, "-c", code, str(directory), str(first), str(last)],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_killed_writer_leaves_a_valid_file_with_all_it_had_put(tmp_path, keyed):
    with writer(tmp_path, 0, 1_000_000) as process:
        for _ in range(20):
            done = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
    with FeatureCache(tmp_path, listener=Recorder()) as cache:
        assert cache._db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        keys = keyed(range(done + 16))
        assert len(cache.get(keys)) == len(keys)
        check_all_rows_are_right(cache, keyed(range(done + 400)))
        assert cache.warnings == []


def test_two_processes_write_at_once_and_nothing_is_lost(tmp_path, keyed):
    """Their ranges overlap: the same image may be in both pools."""
    with writer(tmp_path, 0, 800) as one, writer(tmp_path, 400, 1200) as other:
        one.communicate()
        other.communicate()
    assert (one.returncode, other.returncode) == (0, 0)
    with FeatureCache(tmp_path, listener=Recorder()) as cache:
        assert len(cache.get(keyed(range(1200)))) == 1200
        assert cache.info().n_images == 1200
        check_all_rows_are_right(cache, keyed(range(1200)))
