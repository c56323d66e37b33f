"""Downloads from a server on this machine: cut, repeated, refused, and several at once."""

import errno
import os
import shutil
from collections import namedtuple
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from mixmood.core.errors import InputError, OutputError
from mixmood.core.listener import Silent
from mixmood.data import download
from mixmood.data.download import get
from mixmood.data.sets import CATALOGUE


def test_a_pack_that_is_here_is_not_fetched_again(server, served, tmp_path):
    entry = served(server, "svhn")
    get(entry, tmp_path)
    get(entry, tmp_path)
    assert len(server.asked) == 1


def test_official_files_that_are_here_need_no_network(
    server, served, official, left_behind, tmp_path
):
    entry = served(server, "svhn")
    (tmp_path / "train_32x32.mat").write_bytes(official.files["svhn"]["train_32x32.mat"])
    get(entry, tmp_path)
    assert server.asked == []
    assert left_behind(tmp_path) == ["svhn.npz", "train_32x32.mat"]


def test_a_file_that_is_here_but_is_another_is_refused(server, served, tmp_path):
    (tmp_path / "train_32x32.mat").write_bytes(b"something else")
    with pytest.raises(InputError, match=r"is not the official file.*Delete it or move it away"):
        get(served(server, "svhn"), tmp_path)


def test_a_cut_download_goes_on_where_it_stopped(
    server, served, left_behind, tmp_path, monkeypatch
):
    monkeypatch.setattr(download, "CHUNK", 500)
    entry, server.cut = served(server, "svhn"), 1000
    with pytest.raises(InputError, match="no connection"):
        get(entry, tmp_path)
    assert left_behind(tmp_path) == ["downloads/train_32x32.mat.part"]
    server.cut = None
    get(entry, tmp_path)
    assert server.asked == [None, "bytes=1000-"]
    assert left_behind(tmp_path) == ["svhn.npz"]


def test_a_wrong_checksum_leaves_nothing(server, served, official, left_behind, tmp_path):
    entry = served(server, "svhn")
    content = official.files["svhn"]["train_32x32.mat"]
    server.files["train_32x32.mat"] = content[:-1] + b"!"
    with pytest.raises(InputError, match=r"not the official file \(expected .* but got"):
        get(entry, tmp_path)
    assert left_behind(tmp_path) == []


def test_a_mirror_helps_when_the_first_address_fails(server, served, tmp_path):
    entry = served(server, "svhn")
    good = entry.files[0]
    bad = f"http://127.0.0.1:{server.server_port}/gone"
    entry = replace(entry, files=(replace(good, urls=(bad, *good.urls)),))
    assert get(entry, tmp_path).is_file()


def test_an_absent_file_says_what_the_server_answers(server, served, tmp_path):
    entry = served(server, "svhn")
    server.files.clear()
    with pytest.raises(InputError, match=r"the server answers 404\. Try again later; or fetch"):
        get(entry, tmp_path)


def test_no_network_says_so_and_how_to_do_without(left_behind, tmp_path):
    file = replace(CATALOGUE["svhn"].files[0], urls=("http://127.0.0.1:9/train_32x32.mat",))
    entry = replace(CATALOGUE["svhn"], files=(file,))
    with pytest.raises(InputError, match=r"no connection \(ConnectionError\).*put it into"):
        get(entry, tmp_path)
    assert left_behind(tmp_path) == []


def test_a_server_that_sends_too_much_is_not_listened_to(server, served, left_behind, tmp_path):
    entry = served(server, "svhn")
    server.files["train_32x32.mat"] *= 2
    with pytest.raises(InputError, match="it sent more than the .* bytes expected"):
        get(entry, tmp_path)
    assert left_behind(tmp_path) == []


def test_a_disk_without_room_is_refused_before_anything_is_fetched(
    server, served, tmp_path, monkeypatch
):
    Usage = namedtuple("Usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10))
    with pytest.raises(OutputError, match=r"'svhn' needs .* 0 MB are free. Make room"):
        get(served(server, "svhn"), tmp_path)
    assert server.asked == []


def test_a_disk_that_fills_up_leaves_no_half_pack(
    server, served, left_behind, tmp_path, monkeypatch
):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    entry = served(server, "svhn")
    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OutputError, match="svhn.npz: No space left on device"):
        get(entry, tmp_path)
    assert left_behind(tmp_path) == ["downloads/train_32x32.mat"]


def test_a_disk_that_fills_up_while_fetching_says_so(server, served, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download, "_download", full)
    with pytest.raises(OutputError, match="Cannot write to .*: No space left on device"):
        get(served(server, "svhn"), tmp_path)


def test_of_two_that_get_one_data_set_at_once_one_is_refused(server, served, left_behind, tmp_path):
    """Both would write to one half-fetched file, and each sweep away the other's pack."""
    entry, told = served(server, "svhn"), []

    class Second(Silent):
        def start(self, *_):
            with pytest.raises(OutputError, match=r"Another process is getting 'svhn' .* Wait"):
                get(entry, tmp_path)
            told.append("refused")

    get(entry, tmp_path, Second())
    assert told == ["refused"]
    assert len(server.asked) == 1
    assert left_behind(tmp_path) == ["svhn.npz"]


def test_one_that_waited_finds_the_pack_of_the_other(
    server, served, official, tmp_path, monkeypatch
):
    entry = served(server, "svhn")

    @contextmanager
    def after_another(_):
        np.savez(tmp_path / "svhn.npz", images=official.grey)
        yield

    monkeypatch.setattr(download, "_alone", after_another)
    get(entry, tmp_path)
    assert server.asked == []


def test_different_data_sets_may_be_got_at_once(server, served, left_behind, tmp_path):
    class Second(Silent):
        def start(self, *_):
            get(served(server, "mnist"), tmp_path)

    get(served(server, "svhn"), tmp_path, Second())
    assert left_behind(tmp_path) == ["mnist.npz", "svhn.npz"]


def test_a_killed_process_locks_nobody_out(server, served, left_behind, tmp_path):
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / "svhn.lock").touch()
    (tmp_path / ".svhn.npz.1234").write_bytes(b"half")
    get(served(server, "svhn"), tmp_path)
    assert left_behind(tmp_path) == ["svhn.npz"]


def test_a_folder_that_takes_no_lock_is_told(server, served, tmp_path):
    (tmp_path / "downloads" / "svhn.lock").mkdir(parents=True)
    with pytest.raises(OutputError, match=r"Cannot use the lock .*svhn\.lock: unable to open"):
        get(served(server, "svhn"), tmp_path)


def test_a_pack_is_as_readable_as_any_other_file(server, served, tmp_path):
    before = os.umask(0o027)
    try:
        pack = get(served(server, "svhn"), tmp_path)
    finally:
        os.umask(before)
    assert pack.stat().st_mode & 0o777 == 0o640


def test_a_folder_that_cannot_be_made_is_told(server, served, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="Cannot make the folder"):
        get(served(server, "svhn"), tmp_path / "file")
