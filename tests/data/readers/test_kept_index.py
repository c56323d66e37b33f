"""A tar archive is scanned once; what is kept of it is believed only as far as it can be true."""

import io
import json
import os
import subprocess
import sys
import tarfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fixtures.mutations import edited

import mixmood
from mixmood.core.cache import FILE_NAME, FeatureCache
from mixmood.data.open import open_pool
from mixmood.data.readers import archives as tars
from mixmood.data.readers.archives import (
    Listing,
    archive_key,
    archive_stamp,
    index_from_bytes,
    index_to_bytes,
    read_tar_members,
)

KINDS = ["crawl.tar", "crawl.tar.gz"]
STAMP = b"s" * 20


def make_tar(path, files, age_s=1000):
    """A tar file last written so many seconds ago."""
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    then = path.stat().st_mtime - age_s
    os.utime(path, (then, then))
    return path


@pytest.fixture
def scans(monkeypatch):
    """Grows by one with every archive that is scanned."""
    made = []
    monkeypatch.setattr(tars, "read_tar_members", lambda *a: made.append(1) or read_tar_members(*a))
    return made


@pytest.fixture
def cache(tmp_path):
    with FeatureCache(tmp_path / "cache") as opened:
        yield opened
        assert opened.warnings == []


@pytest.fixture(params=KINDS)
def archive(request, tmp_path, png):
    return make_tar(tmp_path / request.param, {f"{k:02d}/{k % 3}.png": png(k) for k in range(40)})


def test_the_second_opening_scans_nothing_and_gives_the_same_pool(archive, cache, scans, values_of):
    first, second = open_pool(archive, cache=cache), open_pool(archive, cache=cache)
    assert scans == [1]
    assert values_of(first) == values_of(second) == list(range(40))
    assert first.fingerprint == second.fingerprint
    assert first.labels.counts() == second.labels.counts()
    assert [first.locate(k) for k in range(40)] == [second.locate(k) for k in range(40)]


def test_a_gzipped_tar_that_is_known_reads_nothing_on_opening_but_its_first_bytes(
    tmp_path, png, cache, monkeypatch
):
    path = make_tar(tmp_path / "crawl.tar.gz", {f"{k}.png": png(k) for k in range(40)})
    open_pool(path, cache=cache)
    monkeypatch.setattr("mixmood.data.readers.gzip_access._Reader.step", None)
    assert len(open_pool(path, cache=cache)) == 40


def test_an_archive_that_changed_is_scanned_again(archive, cache, scans, png, values_of):
    open_pool(archive, cache=cache)
    make_tar(archive, {"a.png": png(7)}, age_s=500)
    assert values_of(open_pool(archive, cache=cache)) == [7]
    open_pool(archive, cache=cache)
    assert scans == [1, 1]
    assert cache.info().n_archives == 1, "the new index took the place of the old one"


def test_an_archive_of_the_same_size_and_date_in_another_file_is_scanned_again(
    tmp_path, cache, png, values_of
):
    path = make_tar(tmp_path / "crawl.tar", {"a.png": png(1)})
    open_pool(path, cache=cache)
    other = make_tar(tmp_path / "other.tar", {"b.png": png(2)})
    assert other.stat().st_size == path.stat().st_size
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    other.replace(path)
    assert values_of(open_pool(path, cache=cache)) == [2]


def test_an_archive_written_just_now_is_not_kept(tmp_path, cache, png):
    """It may be written again within the same tick of the file system's clock."""
    path = make_tar(tmp_path / "crawl.tar", {"a.png": png(1)}, age_s=0)
    assert archive_stamp(path) is None
    open_pool(path, cache=cache)
    assert cache.info().n_archives == 0


def test_an_archive_that_changes_while_it_is_scanned_is_not_kept(archive, cache, monkeypatch):
    def touching(*arguments):
        os.utime(archive, (1000, 1000))
        return read_tar_members(*arguments)

    monkeypatch.setattr(tars, "read_tar_members", touching)
    open_pool(archive, cache=cache)
    assert cache.info().n_archives == 0


@pytest.mark.parametrize("damage", ["cut", "flipped", "other content", "nothing"])
def test_a_damaged_index_is_made_anew(damage, archive, cache, scans, values_of):
    open_pool(archive, cache=cache)
    key = archive_key(archive.resolve())
    data = cache.index_of(key)
    changed = {
        "cut": data[:-5],
        "flipped": data[:60] + b"\xff" * 16 + data[76:],
        "other content": b"[1]",
        "nothing": b"",
    }
    cache.keep_index(key, changed[damage])
    assert values_of(open_pool(archive, cache=cache)) == list(range(40))
    open_pool(archive, cache=cache)
    assert scans == [1, 1]


def index(offsets=(512, 1024), sizes=(10, 20), **changed):
    """An index of the images a and b, with some of its content changed."""
    rows = np.zeros(2, [("offset", "i8"), ("size", "i8")])
    made = json.loads(index_to_bytes(Listing([b"a", b"b"], rows, {"svg": 1}), STAMP))
    return json.dumps({**made, "offsets": offsets, "sizes": sizes, **changed}).encode()


def test_an_index_comes_back_as_it_was():
    found = index_from_bytes(index(), STAMP, 2000)
    assert list(found.names) == [b"a", b"b"]
    assert found.rows.tolist() == [(512, 10), (1024, 20)]


HUGE = 2**63 - 1


@pytest.mark.parametrize(
    "forged",
    [
        index(offsets=(512, 1990)),
        index(offsets=(-512, 1024)),
        index(offsets=(512, HUGE)),
        index(sizes=(10, -1)),
        index(sizes=(10, HUGE)),
        index(sizes=(HUGE, HUGE), offsets=(HUGE, HUGE)),
        index(sizes=(1, 2**70)),
        index(sizes=(1, 2), offsets=[1]),
        index(offsets=[1, "x"]),
        index(offsets={"a": 1}),
        index(names=["a"]),
        index(names=["a", 1]),
        index(names=["a", "\u2014"]),
        index(names=[], offsets=[], sizes=[]),
        index(passed_over=[1]),
        b"[]",
        index() + b"more",
        b"",
    ],
)
def test_a_forged_index_that_leaves_the_archive_is_not_believed(forged):
    assert index_from_bytes(forged, STAMP, 2000) is None


def test_an_index_with_the_stamp_of_another_archive_is_not_believed():
    assert index_from_bytes(index(), b"t" * 20, 2000) is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=6))
def test_whatever_is_believed_lies_within_the_archive(edits):
    found = index_from_bytes(edited(index(), edits), STAMP, 2000)
    if found is not None:
        assert len(found.names) == len(found.rows) == 2
        assert (found.rows["offset"] + found.rows["size"] <= 2000).all()


def test_a_hostile_index_of_a_gzipped_tar_gives_unreadable_images(tmp_path, png, cache):
    path = make_tar(tmp_path / "crawl.tar.gz", {"a.png": png(1)})
    key, stamp = archive_key(path.resolve()), archive_stamp(path)
    far = index(offsets=(10**8, 0), sizes=(9, 10**8), stamp=stamp.hex())
    cache.keep_index(key, far)
    found = list(open_pool(path, cache=cache).read(range(2)))
    assert all("has changed since it was opened" in str(error) for error in found)


@pytest.mark.parametrize("no_cache", [None, "none"])
def test_without_a_cache_nothing_is_written(no_cache, tmp_path, png, monkeypatch):
    monkeypatch.setenv("MIXMOOD_CACHE", str(tmp_path / "cache"))
    labelled = make_tar(tmp_path / "a.tar", {f"{k}.png": png(k) for k in range(12)})
    pool = make_tar(tmp_path / "b.tar", {f"{k}.png": png(100 + k) for k in range(12)})
    mixmood.rank(labelled, {"b": pool}, cache=no_cache, sample_size=4, draws=2, resolution=64)
    assert not (tmp_path / "cache").exists()


def test_ranking_keeps_the_indexes_of_its_archives_in_the_cache(tmp_path, png, scans):
    labelled = make_tar(tmp_path / "a.tar", {f"{k}.png": png(k) for k in range(12)})
    pool = make_tar(tmp_path / "b.tar.gz", {f"{k}.png": png(100 + k) for k in range(12)})
    reports = [
        mixmood.rank(
            labelled, [pool], cache=tmp_path / "cache", sample_size=4, draws=2, resolution=64
        ).to_json()
        for _ in range(2)
    ]
    assert reports[0] == reports[1]
    assert len(scans) == 2, "one scan an archive, both in the first run"


def test_a_place_that_cannot_hold_a_cache_means_scanning_and_one_warning(tmp_path, png):
    (tmp_path / "cache").write_text("in the way")
    path = make_tar(tmp_path / "a.tar", {f"{k}.png": png(k) for k in range(12)})
    pool = make_tar(tmp_path / "b.tar", {f"{k}.png": png(100 + k) for k in range(12)})
    with pytest.warns(RuntimeWarning, match="going on without it") as told:
        mixmood.rank(path, [pool], cache=tmp_path / "cache", sample_size=4, draws=2, resolution=64)
    assert len(told) == 1


OPENER = """
import sys
from mixmood.core.cache import FeatureCache
from mixmood.data.open import open_pool
with FeatureCache(sys.argv[1]) as cache:
    for _ in range(20):
        cache._db.execute("DELETE FROM archives")
        assert len(open_pool(sys.argv[2], cache=cache)) == 40
    assert not cache.warnings, cache.warnings
"""


def test_processes_that_open_an_archive_at_once_agree(archive, tmp_path, scans, values_of):
    words = [sys.executable, "-c", OPENER, str(tmp_path / "cache"), str(archive)]
    running = [subprocess.Popen(words) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert (tmp_path / "cache" / FILE_NAME).exists()
    with FeatureCache(tmp_path / "cache") as cache:
        assert values_of(open_pool(archive, cache=cache)) == list(range(40))
