"""Clocks that jump: by days, in either direction, in the middle of work."""

import os
import time

import numpy as np
import pytest

import mixmood
from mixmood.core.cache import FeatureCache
from mixmood.data.readers.archives import archive_stamp
from mixmood.jobs.local import Outcome
from mixmood.testbed.driver import drive, read_status
from mixmood.testbed.store import Store

DAY_S = 86_400


class Clock:
    """A clock that is set at will."""

    def __init__(self, now=2e9):
        self.now = now

    def __call__(self):
        return self.now


class Jumping:
    """A wall clock that jumps by three days at every look, forth and back in turn."""

    def __init__(self):
        self.n_looks = 0

    def __call__(self):
        self.n_looks += 1
        return 2e9 + (-1) ** self.n_looks * 3 * DAY_S


def rows(first, last):
    return {n.to_bytes(20, "big"): np.full(1280, n, np.float32) for n in range(first, last)}


def test_rows_put_while_the_clock_was_ahead_are_not_kept_for_ever(tmp_path):
    clock = Clock(2e9 + 365 * DAY_S)
    with FeatureCache(tmp_path, limit_bytes=1_000_000, now=clock) as cache:
        cache.put(rows(0, 50))
        clock.now = 2e9
        for start in range(100, 1000, 50):
            clock.now += 60
            cache.put(rows(start, start + 50))
        assert cache.get(rows(0, 50)) == {}
        assert len(cache.get(rows(950, 1000))) == 50


def test_archives_kept_while_the_clock_was_ahead_give_way_too(tmp_path):
    clock = Clock(2e9 + 365 * DAY_S)
    with FeatureCache(tmp_path, limit_bytes=8_000_000, now=clock) as cache:
        cache.keep_index(b"old", b"x" * 400_000)
        clock.now = 2e9
        for key in (b"a", b"b", b"c"):
            clock.now += 60
            cache.keep_index(key, b"x" * 400_000)
        assert cache.index_of(b"old") is None
        assert cache.index_of(b"c") is not None


@pytest.mark.parametrize("jump_s", [-400 * DAY_S, 400 * DAY_S])
def test_a_jump_loses_nothing_from_a_cache_that_is_not_full(tmp_path, jump_s):
    clock = Clock()
    with FeatureCache(tmp_path, now=clock) as cache:
        cache.put(rows(0, 20))
        clock.now += jump_s
        cache.put(rows(20, 40))
        assert len(cache.get(rows(0, 40))) == 40
    with FeatureCache(tmp_path, now=clock) as cache:
        assert len(cache.get(rows(0, 40))) == 40
        assert cache.warnings == []


def test_an_archive_dated_in_the_future_is_read_but_its_index_not_kept(tmp_path):
    """Until the clock has reached it nobody can tell whether it changed."""
    path = tmp_path / "a.tar"
    path.write_bytes(b"")
    os.utime(path, (time.time() + DAY_S,) * 2)
    assert archive_stamp(path) is None


def test_a_ranking_and_its_duration_do_not_depend_on_the_wall_clock(monkeypatch, rng):
    labelled, pool = rng.normal(size=(40, 8)), rng.normal(size=(60, 8))
    before = mixmood.rank(labelled, {"pool": pool}, draws=3, sample_size=10)
    monkeypatch.setattr(time, "time", Jumping())
    after = mixmood.rank(labelled, {"pool": pool}, draws=3, sample_size=10)
    assert after.to_json() == before.to_json()
    assert 0 <= after._elapsed_s < 60


def test_a_driver_s_estimate_is_never_negative_when_the_clock_is_set_back(
    monkeypatch, tmp_path, tiny_bed
):
    config, jobs, record_of = tiny_bed
    store = Store.make(tmp_path / "store", config)
    monkeypatch.setattr(time, "time", Jumping())
    left = []

    def spread(waiting, n_jobs, on_start):
        for call in waiting:
            on_start(call)
            yield Outcome(call.key, [record_of(job) for job in call.argument])

    drive(jobs, store, spread, n_jobs=1, watch=lambda now, _: left.append(now.seconds_left))
    assert all(0 <= seconds < 60 for seconds in left if seconds is not None)
    assert read_status(store).seconds_left == 0
    again = drive(jobs, store, spread, n_jobs=1)
    assert (again.n_done, again.n_earlier) == (0, len(jobs))
    # A lock belongs to a process and not to a date.
    assert not store.is_locked
