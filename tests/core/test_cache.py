"""The feature cache: it keeps rows, forgets the oldest, and never stands in the way."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mixmood.core.cache import (
    FILE_NAME,
    FeatureCache,
    cache_directory,
    limit_from_environment,
    open_cache,
)
from mixmood.core.errors import OptionError

WIDTH = 1280


def keyed(numbers):
    """Rows that tell their number, under keys that tell it too."""
    return {b"key %06d" % i: np.full(WIDTH, i, np.float32) for i in numbers}


def check_all_rows_are_right(cache, keys):
    for key, row in cache.get(keys).items():
        assert np.array_equal(row, np.full(WIDTH, int(key[4:]), np.float32))


class Clock:
    def __init__(self):
        self.time = 1_000_000.0

    def __call__(self):
        return self.time


def test_rows_come_back_to_the_last_bit_also_after_reopening(tmp_path):
    row = np.random.default_rng(0).normal(size=WIDTH).astype(np.float32)
    with FeatureCache(tmp_path) as cache:
        cache.put({b"a": row})
        assert np.array_equal(cache.get([b"a"])[b"a"], row)
    with FeatureCache(tmp_path) as cache:
        assert np.array_equal(cache.get([b"a", b"b"])[b"a"], row)
        assert cache.get([b"b"]) == {}
        assert cache.warnings == []


def test_any_number_of_keys_can_be_asked_for_at_once(tmp_path):
    with FeatureCache(tmp_path) as cache:
        cache.put({b"key %06d" % i: np.full(2, i, np.float32) for i in range(1000)})
        asked = [b"key %06d" % i for i in range(500, 2000)]
        found = cache.get([*asked, *asked])
        assert {int(row[0]) for row in found.values()} == set(range(500, 1000))
        assert cache.get([]) == {}


def test_a_row_that_was_damaged_on_disk_counts_as_absent_and_can_be_replaced(tmp_path):
    with FeatureCache(tmp_path) as cache:
        cache.put(keyed(range(2)))
    with sqlite3.connect(tmp_path / FILE_NAME) as db:
        db.execute("UPDATE features SET row = zeroblob(5120) WHERE key = ?", (b"key 000001",))
    db.close()
    with FeatureCache(tmp_path) as cache:
        assert list(cache.get(keyed(range(2)))) == [b"key 000000"]
        cache.put(keyed([1]))
        assert len(cache.get(keyed(range(2)))) == 2


def test_beyond_its_limit_the_file_forgets_what_was_not_used_for_longest(tmp_path):
    clock = Clock()
    with FeatureCache(tmp_path, limit_bytes=400_000, now=clock) as cache:
        for start in range(0, 40, 10):
            clock.time += 10
            cache.put(keyed(range(start, start + 10)))
        clock.time += 10_000
        cache.get(keyed(range(5)))
        cache.put({})
        clock.time += 10
        for start in range(40, 90, 10):
            cache.put(keyed(range(start, start + 10)))
        left = {int(key[4:]) for key in cache.get(keyed(range(100)))}
        assert cache.info().n_bytes <= 400_000
    assert set(range(5)) <= left, "used again, so kept"
    assert set(range(80, 90)) <= left, "the newest"
    assert not left & set(range(5, 30)), "the oldest"
    assert (tmp_path / FILE_NAME).stat().st_size <= 400_000


def test_indexes_come_back_and_a_damaged_one_counts_as_absent(tmp_path):
    with FeatureCache(tmp_path) as cache:
        cache.keep_index(b"a", b"one")
        cache.keep_index(b"a", b"two")
        cache.keep_index(b"b", b"three")
        assert (cache.index_of(b"a"), cache.index_of(b"b")) == (b"two", b"three")
        assert cache.index_of(b"c") is None
        cache._db.execute("UPDATE archives SET found = 'text' WHERE key = ?", (b"a",))
        cache._db.execute("UPDATE archives SET found = x'00' WHERE key = ?", (b"b",))
        assert (cache.index_of(b"a"), cache.index_of(b"b")) == (None, None)
        assert cache.warnings == []


def test_indexes_take_an_eighth_of_the_limit_at_most_and_the_oldest_go_first(tmp_path):
    clock = Clock()
    with FeatureCache(tmp_path, limit_bytes=800_000, now=clock) as cache:
        cache.put(keyed(range(20)))
        for number in range(4):
            clock.time += 10
            cache.keep_index(b"%d" % number, bytes(30_000))
        clock.time += 10_000
        assert cache.index_of(b"1") is not None, "found, so renewed"
        cache.keep_index(b"4", bytes(30_000))
        cache.keep_index(b"large", bytes(100_001))
        left = [number for number in range(5) if cache.index_of(b"%d" % number)]
        assert left == [1, 3, 4]
        assert cache.index_of(b"large") is None
        assert cache.info().n_archives == 3
        assert cache.info().n_images == 20


def test_info_counts_images_and_bytes(tmp_path):
    with FeatureCache(tmp_path, limit_bytes=10**7) as cache:
        cache.put(keyed(range(20)))
        info = cache.info()
    assert (info.n_images, info.limit_bytes, info.path) == (20, 10**7, tmp_path / FILE_NAME)
    assert 20 * WIDTH * 4 < info.n_bytes < 30 * WIDTH * 4


def test_clear_empties_the_file_and_removes_a_damaged_one(tmp_path):
    (tmp_path / f"{FILE_NAME}.damaged").write_bytes(b"old")
    with FeatureCache(tmp_path) as cache:
        cache.put(keyed(range(50)))
        cache.clear()
        assert cache.info().n_images == 0
        assert cache.info().n_bytes < 50_000
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


def test_a_file_that_is_no_database_is_set_aside_with_a_warning(tmp_path):
    (tmp_path / FILE_NAME).write_bytes(b"this was never a cache" * 1000)
    with FeatureCache(tmp_path) as cache:
        assert len(cache.warnings) == 1
        assert "set aside as features-v1.sqlite.damaged" in cache.warnings[0]
        cache.put(keyed(range(3)))
        assert len(cache.get(keyed(range(3)))) == 3
    assert (tmp_path / f"{FILE_NAME}.damaged").read_bytes().startswith(b"this was never")


def test_a_file_with_overwritten_pages_is_set_aside_while_in_use(tmp_path):
    with FeatureCache(tmp_path) as cache:
        cache.put(keyed(range(500)))
    path = tmp_path / FILE_NAME
    with path.open("r+b") as file:
        file.seek(2 * 4096)
        file.write(b"\xff" * (path.stat().st_size - 3 * 4096))
    with FeatureCache(tmp_path) as cache:
        check_all_rows_are_right(cache, keyed(range(500)))
        cache.put(keyed(range(500)))
        assert len(cache.warnings) == 1
        assert "is damaged" in cache.warnings[0]
        cache.put(keyed(range(500)))
        assert len(cache.get(keyed(range(500)))) == 500


def test_a_directory_that_cannot_be_made_means_no_cache_and_one_warning(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with FeatureCache(tmp_path / "file" / "cache") as cache:
        cache.put(keyed(range(3)))
        assert cache.get(keyed(range(3))) == {}
        assert not cache.is_open
        assert len(cache.warnings) == 1
        assert "going on without it" in cache.warnings[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_directory_means_no_cache_and_one_warning(tmp_path):
    tmp_path.chmod(0o500)
    with FeatureCache(tmp_path) as cache:
        cache.put(keyed(range(3)))
        assert len(cache.warnings) == 1
    tmp_path.chmod(0o700)


def test_a_file_that_may_only_be_read_means_one_warning(tmp_path):
    with FeatureCache(tmp_path) as cache:
        cache._db.execute("PRAGMA query_only = ON")
        cache.put(keyed(range(3)))
        cache.put(keyed(range(3)))
        assert len(cache.warnings) == 1
        assert "attempt to write a readonly database" in cache.warnings[0]


def test_a_full_disk_means_one_warning_and_the_rows_before_stay(tmp_path):
    with FeatureCache(tmp_path) as cache:
        cache.put(keyed(range(10)))
        cache._db.execute("PRAGMA max_page_count = 40")
        cache.put(keyed(range(10, 200)))
        cache.put(keyed(range(200, 400)))
        assert len(cache.warnings) == 1
        assert "full" in cache.warnings[0]
    with FeatureCache(tmp_path) as cache:
        assert len(cache.get(keyed(range(400)))) == 10


WRITER = """
import sys
sys.path.insert(0, {here!r})
from test_cache import FeatureCache, keyed
with FeatureCache(sys.argv[1]) as cache:
    for start in range(int(sys.argv[2]), int(sys.argv[3]), 16):
        cache.put(keyed(range(start, min(start + 16, int(sys.argv[3])))))
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


def test_a_killed_writer_leaves_a_valid_file_with_all_it_had_put(tmp_path):
    with writer(tmp_path, 0, 1_000_000) as process:
        for _ in range(20):
            done = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
    with FeatureCache(tmp_path) as cache:
        assert cache._db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        keys = keyed(range(done + 16))
        assert len(cache.get(keys)) == len(keys)
        check_all_rows_are_right(cache, keyed(range(done + 400)))
        assert cache.warnings == []


def test_two_processes_write_at_once_and_nothing_is_lost(tmp_path):
    """Their ranges overlap: the same image may be in both pools."""
    with writer(tmp_path, 0, 800) as one, writer(tmp_path, 400, 1200) as other:
        one.communicate()
        other.communicate()
    assert (one.returncode, other.returncode) == (0, 0)
    with FeatureCache(tmp_path) as cache:
        assert len(cache.get(keyed(range(1200)))) == 1200
        assert cache.info().n_images == 1200
        check_all_rows_are_right(cache, keyed(range(1200)))


def test_none_is_no_cache_and_a_path_is_a_cache_there(tmp_path):
    assert open_cache(None) is None
    assert open_cache("none") is None
    with open_cache(tmp_path / "new" / "place") as cache:
        assert cache.path == tmp_path / "new" / "place" / FILE_NAME


def test_the_environment_says_where_the_default_cache_is(tmp_path, monkeypatch):
    monkeypatch.setenv("MIXMOOD_CACHE", str(tmp_path))
    assert cache_directory() == tmp_path
    monkeypatch.setenv("MIXMOOD_CACHE", "none")
    assert cache_directory() is None
    assert open_cache() is None
    monkeypatch.delenv("MIXMOOD_CACHE")
    assert cache_directory().name == "mixmood"


def test_the_environment_says_how_large_it_may_grow(monkeypatch):
    monkeypatch.setenv("MIXMOOD_CACHE_MB", "3")
    assert limit_from_environment() == 3 * 1024**2
    monkeypatch.delenv("MIXMOOD_CACHE_MB")
    assert limit_from_environment() == 2 * 1024**3


@pytest.mark.parametrize("text", ["0", "-5", "much", "", "1.5", "²", "1" * 10, "9" * 5000])
def test_a_size_that_is_no_number_of_megabytes_is_refused(text, monkeypatch):
    monkeypatch.setenv("MIXMOOD_CACHE_MB", text)
    with pytest.raises(OptionError, match=f"megabytes, from 1 to 999999999; got '{text[:20]}'"):
        limit_from_environment()


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
    with FeatureCache(tmp_path) as cache:
        cache.put({b"key": np.ones(4, np.float32)})
        path = cache.path
    database = sqlite3.connect(path)
    database.execute(f"UPDATE features SET {change}")
    database.commit()
    database.close()
    with FeatureCache(tmp_path) as cache:
        assert cache.get([b"key"]) == {}
        assert cache.warnings == []


def test_a_file_whose_schema_is_no_text_is_set_aside(tmp_path):
    """SQLite quotes the schema in its message, which Python then cannot decode."""
    with FeatureCache(tmp_path) as cache:
        cache.put({b"key": np.ones(4, np.float32)})
        path = cache.path
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = DELETE")
    database.close()
    path.write_bytes(path.read_bytes().replace(b"CREATE INDEX by_use", b"CREATE IN\x80EX by_use"))
    with FeatureCache(tmp_path) as cache:
        assert "is damaged" in cache.warnings[0]
        assert cache.is_open
