"""Pools behind URLs."""

import functools
import gc
import http.server
import sys
import threading
import zipfile

import numpy as np
import pytest

from mixmood.core import files as bounded
from mixmood.core.errors import InputError, MissingExtraError, UnreadableImageError
from mixmood.data.open import open_pool
from mixmood.data.readers import remote
from mixmood.data.readers.archives import ZipSource
from mixmood.data.readers.array import ImageArray
from mixmood.data.readers.remote import RemoteFolder

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def memory():
    """fsspec's file system in memory, empty."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    return system


@pytest.fixture
def served(tmp_path):
    """Serves the folder `pool` over HTTP; gives its URL."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_folder_behind_a_url_is_listed_and_its_images_fetched(memory, png, values_of):
    for name, value in {"dog/2.png": 2, "cat/1.png": 1, "cat/._1.png": 9, "x.txt": 9}.items():
        memory.pipe(f"/crawl/{name}", png(value))
    memory.pipe("/crawl-2/3.png", png(9))
    memory.rm("/crawl/x.txt")
    pool = open_pool("memory://crawl")
    assert isinstance(pool, RemoteFolder)
    assert values_of(pool) == [1, 2]
    assert (pool.name, pool.locate(0)) == ("crawl", "cat/1.png")
    assert pool.labels.counts() == {"cat": 1, "dog": 1}


def test_names_of_this_machine_that_are_no_text_are_listed_and_fetched(tree, values_of):
    folder = tree({"caf\udce9.png": 7})
    pool = open_pool(f"file://{folder}")
    assert values_of(pool) == [7]
    assert pool.locate(0) == r"caf\xe9.png"


def test_the_fingerprint_is_that_of_the_same_folder_on_disk(memory, png, tree):
    files = {"a/1.png": 1, "b/2.png": 2}
    for name, value in files.items():
        memory.pipe(f"/crawl/{name}", png(value))
    assert open_pool("memory://crawl").fingerprint == open_pool(tree(files)).fingerprint


def test_an_image_that_vanished_is_unreadable(memory, png):
    memory.pipe("/crawl/1.png", png(1))
    pool = open_pool("memory://crawl")
    memory.rm("/crawl/1.png")
    with pytest.raises(UnreadableImageError, match=r"1\.png: cannot be fetched: "):
        pool.fetch(0)


def test_an_image_that_never_ends_is_unreadable(memory, png, monkeypatch):
    monkeypatch.setattr(bounded, "MAX_FILE_BYTES", 50)
    memory.pipe("/crawl/1.png", png(1))
    with pytest.raises(UnreadableImageError, match=r"1\.png: \d+ bytes is more than the 50"):
        open_pool("memory://crawl").fetch(0)


def test_a_file_behind_a_url_is_fetched_once_and_goes_with_the_pool(
    memory, png, tmp_path, values_of
):
    with memory.open("/crawl.zip", "wb") as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr("1.png", png(1))
    pool = open_pool("memory://crawl.zip")
    assert isinstance(pool, ZipSource)
    assert pool.name == "crawl"
    place = pool.fetched_to.folder
    renamed = open_pool(pool, "other")
    del pool
    gc.collect()
    assert values_of(renamed) == [1]
    del renamed
    gc.collect()
    assert not place.exists()


def test_an_array_behind_a_url_is_a_pool(memory):
    with memory.open("/data/a.npy", "wb") as file:
        np.save(file, np.full((3, 5, 6), 7, dtype=np.uint8))
    pool = open_pool("memory://data/a.npy", "mine")
    assert isinstance(pool, ImageArray)
    assert pool.name == "mine"
    assert next(pool.read([2]))[0, 0, 0] == 7


def test_a_file_larger_than_the_limit_is_refused_and_removed(memory, monkeypatch, tmp_path):
    monkeypatch.setattr(remote, "MAX_FETCHED_BYTES", 100)
    monkeypatch.setattr(remote.tempfile, "tempdir", str(tmp_path))
    memory.pipe("/a.zip", bytes(101))
    with pytest.raises(InputError, match=r"Cannot open memory://a\.zip: .* more than 100 bytes"):
        open_pool("memory://a.zip")
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_folders_and_files_come_over_http(served, tree, tmp_path, values_of, png):
    tree({"cat/1.png": 1, "dog/2 b.png": 2, "notes.txt": b"x"})
    with zipfile.ZipFile(tmp_path / "crawl.zip", "w") as archive:
        archive.writestr("3.png", png(3))
    pool = open_pool(f"{served}/pool")
    assert values_of(pool) == [1, 2]
    assert pool.labels.counts() == {"cat": 1, "dog": 1}
    assert pool.name == "pool"
    assert values_of(open_pool(f"{served}/crawl.zip")) == [3]
    (tmp_path / "pool" / "cat" / "1.png").unlink()
    with pytest.raises(UnreadableImageError, match=r"cat/1\.png: cannot be fetched"):
        pool.fetch(0)
    with pytest.raises(InputError, match=r"Cannot open .*gone\.zip: FileNotFoundError"):
        open_pool(f"{served}/gone.zip")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("memory://gone", r"No images behind memory://gone: found 0 files\. Give the URL"),
        ("memory://gone.zip", r"Cannot open memory://gone\.zip: FileNotFoundError"),
        ("bogus://x/y", r"Cannot open bogus://x/y: ValueError: Protocol not known: bogus"),
        ("memory://list.csv", r"is a list of paths. Such a list must be on this machine"),
    ],
)
def test_a_url_that_is_no_pool_is_refused(url, message, memory):
    with pytest.raises(InputError, match=message):
        open_pool(url)


def test_a_url_that_cannot_be_listed_is_refused(memory, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError("forbidden")

    monkeypatch.setattr(type(memory), "find", refuse)
    with pytest.raises(InputError, match=r"Cannot open memory://crawl: PermissionError: forbidden"):
        open_pool("memory://crawl")


def test_a_missing_package_is_named_with_the_way_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingExtraError, match=r"Reading URLs needs .* 'mixmood\[remote\]'"):
        open_pool("memory://crawl")
