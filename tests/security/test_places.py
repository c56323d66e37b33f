"""Nothing is read from, or written to, a place that was not asked for."""

import io
import os
import socket
import stat
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mixmood.core.errors import InputError, OptionError
from mixmood.data.open import open_pool
from mixmood.data.sets import open_set
from mixmood.testbed.config import parse_config

unix = pytest.mark.skipif(sys.platform == "win32", reason="no such files")


def png():
    buffer = io.BytesIO()
    Image.new("L", (5, 4), 9).save(buffer, "PNG")
    return buffer.getvalue()


def everything_below(folder):
    return set(Path(folder).rglob("*"))


ESCAPING = [
    "../../evil.png",
    "/evil.png",
    "..\\..\\evil.png",
    "C:\\evil.png",
    "a/../../../evil.png",
]


def zipped(path, names):
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, png())


def tarred(path, names):
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as archive:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = len(png())
            archive.addfile(info, io.BytesIO(png()))


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz"])
def test_names_in_an_archive_lead_nowhere(tmp_path, name):
    """Nothing is ever extracted: images are read, and no file appears. Folders `..` are skipped."""
    inside = tmp_path / "one" / "two" / "three"
    inside.mkdir(parents=True)
    (zipped if name == "a.zip" else tarred)(inside / name, ESCAPING)
    before = everything_below(tmp_path)
    pool = open_pool(inside / name)
    assert {picture.shape for picture in pool.read(range(len(pool)))} == {(4, 5, 3)}
    assert not any("../" in pool.locate(index) for index in range(len(pool)))
    assert pool.fingerprint
    assert everything_below(tmp_path) == before
    assert not any(Path(place).exists() for place in ("/evil.png", "../../evil.png"))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_in_a_tar_are_left_out(tmp_path, kind):
    tarred(tmp_path / "a.tar", ["1.png"])
    with tarfile.open(tmp_path / "a.tar", "a") as archive:
        info = tarfile.TarInfo("2.png")
        info.type, info.linkname = kind, "/etc/passwd"
        archive.addfile(info)
    assert len(open_pool(tmp_path / "a.tar")) == 1


@unix
def test_pipes_sockets_and_links_that_leave_are_left_out_of_a_folder(tmp_path):
    pool, secret = tmp_path / "pool", tmp_path / "secret"
    pool.mkdir()
    secret.mkdir()
    for folder in (pool, secret):
        (folder / "1.png").write_bytes(png())
    os.mkfifo(pool / "fifo.png")
    (pool / "file-out.png").symlink_to(secret / "1.png")
    (pool / "folder-out").symlink_to(secret)
    (pool / "null.png").symlink_to(os.devnull)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(pool / "socket.png"))
        opened = open_pool(pool)
        assert [opened.locate(index) for index in range(len(opened))] == ["1.png"]


@unix
def test_a_device_in_a_folder_is_left_out(tmp_path):
    (tmp_path / "1.png").write_bytes(png())
    try:
        os.mknod(tmp_path / "zero.png", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root may make devices")
    assert len(open_pool(tmp_path)) == 1


@unix
def test_pipes_and_links_that_leave_are_no_shards(tmp_path):
    """To open a pipe for reading waits for a writer, for ever."""
    pool, secret = tmp_path / "pool", tmp_path / "secret.parquet"
    pool.mkdir()
    secret.write_bytes(b"PAR1")
    os.mkfifo(pool / "fifo.parquet")
    (pool / "out.parquet").symlink_to(secret)
    with pytest.raises(InputError, match="No images in the folder"):
        open_pool(pool)


@unix
def test_a_pipe_beside_images_is_not_taken_for_their_labels(tmp_path):
    head = b"\0\0\x08\3" + b"".join(n.to_bytes(4, "big") for n in (2, 5, 4))
    (tmp_path / "a-images-idx3-ubyte").write_bytes(head + bytes(40))
    os.mkfifo(tmp_path / "a-labels-idx1-ubyte")
    assert open_pool(tmp_path / "a-images-idx3-ubyte").labels is None


@pytest.mark.parametrize("name", ["../secret", "/secret", "sub/../../secret", "secret.npz\0"])
def test_the_name_of_a_data_set_cannot_leave_the_data_folder(tmp_path, monkeypatch, name):
    """A test bed's TOML names data sets."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("MIXMOOD_DATA", str(home))
    np.savez(tmp_path / "secret.npz", images=np.zeros((2, 5, 5), np.uint8))
    with pytest.raises(OptionError, match="Unknown data set"):
        open_set(name)


@pytest.mark.parametrize("name", ["../x", "/x", "x/y", ".", "-x", "a\x1b"])
def test_the_name_of_a_test_bed_is_no_path(name):
    text = f"name = {name!r}\n[grid.tasks]\ndigits = ['gaussian']".replace("\\x1b", "\x7f")
    with pytest.raises((OptionError, InputError), match="name: String should|no valid TOML"):
        parse_config(text, "bed")
