"""The feature cache: it keeps rows and indexes, forgets the oldest, and lies where it is told."""

import threading
import time

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


class Clock:
    def __init__(self):
        self.time = 1_000_000.0

    def __call__(self):
        return self.time


def test_rows_come_back_to_the_last_bit_also_after_reopening(tmp_path, width):
    row = np.random.default_rng(0).normal(size=width).astype(np.float32)
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


def test_beyond_its_limit_the_file_forgets_what_was_not_used_for_longest(tmp_path, keyed):
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


def test_indexes_take_an_eighth_of_the_limit_at_most_and_the_oldest_go_first(tmp_path, keyed):
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


def test_info_counts_images_and_bytes(tmp_path, keyed, width):
    with FeatureCache(tmp_path, limit_bytes=10**7) as cache:
        cache.put(keyed(range(20)))
        info = cache.info()
    assert (info.n_images, info.limit_bytes, info.path) == (20, 10**7, tmp_path / FILE_NAME)
    assert 20 * width * 4 < info.n_bytes < 30 * width * 4


def test_clear_empties_the_file_and_removes_a_damaged_one(tmp_path, keyed):
    (tmp_path / f"{FILE_NAME}.damaged").write_bytes(b"old")
    with FeatureCache(tmp_path) as cache:
        cache.put(keyed(range(50)))
        cache.clear()
        assert cache.info().n_images == 0
        assert cache.info().n_bytes < 50_000
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


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


def test_rows_are_kept_while_other_threads_find_old_ones(tmp_path):
    """A row that is found after an hour is noted for renewal, by any thread, at any moment."""
    now = [0.0]
    cache = FeatureCache(tmp_path, now=lambda: now[0])
    old = {bytes([k]) * 20: np.ones(4, np.float32) for k in range(50)}
    cache.put(old)
    now[0] = 7200.0
    cache.get(list(old)[:1])
    is_within = threading.Event()

    def keys():
        for key in old:
            is_within.set()
            time.sleep(0.001)
            yield key

    reader = threading.Thread(target=lambda: cache.get(keys()))
    reader.start()
    is_within.wait()
    cache.put({b"new": np.ones(4, np.float32)})
    reader.join()
    assert list(cache.get([b"new"])) == [b"new"]
    assert not cache.warnings
