"""Downloads from a server on this machine, of small files in the official formats."""

import errno
import gzip
import hashlib
import io
import os
import shutil
import tarfile
import threading
import zipfile
from collections import namedtuple
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from PIL import Image

from mixmood.core.errors import InputError, OutputError
from mixmood.core.progress import Silent
from mixmood.data import download
from mixmood.data.catalogue import CATALOGUE, RemoteFile
from mixmood.data.download import get
from mixmood.data.library import open_set
from mixmood.data.unpack import FORMS, unpack

RNG = np.random.default_rng(0)


def idx(array):
    head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, dtype=">u4").tobytes()
    return gzip.compress(head + array.astype(np.uint8).tobytes(), mtime=0)


def jpeg(size, value):
    buffer = io.BytesIO()
    Image.new("RGB", size, (value, value, value)).save(buffer, format="JPEG")
    return buffer.getvalue()


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def mat(images, labels):
    from scipy.io import savemat

    buffer = io.BytesIO()
    pixels = images.transpose(1, 2, 3, 0)
    savemat(buffer, {"X": pixels, "y": labels[:, None].astype(np.uint8)}, do_compression=True)
    return buffer.getvalue()


GREY = RNG.integers(0, 256, (6, 28, 28)).astype(np.uint8)
COLOUR = RNG.integers(0, 256, (6, 32, 32, 3)).astype(np.uint8)
LABELS = np.array([3, 1, 0, 2, 1, 3])
CIFAR_ROWS = np.hstack([LABELS[:, None], COLOUR.transpose(0, 3, 1, 2).reshape(6, -1)])
CIFAR_ROWS = CIFAR_ROWS.astype(np.uint8)
STYLES = "id,gender,masterCategory,subCategory\n7,Men,Apparel,Topwear\n5,Women,Footwear,Shoes\n"

OFFICIAL = {
    "mnist": {"train-images-idx3-ubyte.gz": idx(GREY), "train-labels-idx1-ubyte.gz": idx(LABELS)},
    "cifar10": {
        "cifar-10-binary.tar.gz": tarred(
            {
                "cifar-10-batches-bin/data_batch_2.bin": CIFAR_ROWS[3:].tobytes(),
                "cifar-10-batches-bin/data_batch_1.bin": CIFAR_ROWS[:3].tobytes(),
                "cifar-10-batches-bin/test_batch.bin": CIFAR_ROWS[:1].tobytes(),
                "cifar-10-batches-bin/batches.meta.txt": b"airplane\nautomobile\nbird\ncat\n\n",
            }
        )
    },
    "svhn": {"train_32x32.mat": mat(COLOUR, np.where(LABELS == 0, 10, LABELS))},
    "tiny_imagenet": {
        "tiny-imagenet-200.zip": zipped(
            {
                "tiny-imagenet-200/train/n02/images/n02_0.JPEG": jpeg((64, 64), 200),
                "tiny-imagenet-200/train/n01/images/n01_0.JPEG": jpeg((64, 64), 90),
                "tiny-imagenet-200/train/n01/n01_boxes.txt": b"x",
                "tiny-imagenet-200/val/images/val_0.JPEG": jpeg((64, 64), 1),
            }
        )
    },
    "fashion_product": {
        "fashion-product-images-small.zip": zipped(
            {
                "styles.csv": STYLES,
                "images/7.jpg": jpeg((60, 80), 70),
                "images/5.jpg": jpeg((61, 82), 50),
                "images/9.jpg": jpeg((60, 80), 9),
                "myntradataset/images/7.jpg": jpeg((60, 80), 1),
            }
        )
    },
}


class Handler(BaseHTTPRequestHandler):
    """Serves `server.files`; understands ranges; cuts the connection after `server.cut` bytes."""

    def do_GET(self):
        content = self.server.files.get(self.path.rpartition("/")[2])
        self.server.asked.append(self.headers.get("Range"))
        if content is None:
            self.send_error(404)
            return
        asked = self.headers.get("Range")
        first = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(content) - first))
        self.end_headers()
        rest = content[first:]
        self.wfile.write(rest if self.server.cut is None else rest[: self.server.cut])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.files, running.asked, running.cut = {}, [], None
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def served(server, name, **changes):
    """The catalogue's entry with its files, made small, on the test's server."""
    server.files |= OFFICIAL[name]
    files = tuple(
        RemoteFile(
            file,
            (f"http://127.0.0.1:{server.server_port}/{file}",),
            len(content),
            hashlib.sha256(content).hexdigest(),
        )
        for file, content in OFFICIAL[name].items()
    )
    return replace(CATALOGUE[name], files=files, n_images=6, **changes)


def left_behind(home):
    return sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", OFFICIAL)
def test_a_data_set_is_fetched_and_kept_as_one_pack(server, tmp_path, name):
    pack = get(served(server, name), tmp_path)
    assert left_behind(tmp_path) == [f"{name}.npz"]
    pool = open_set(name, tmp_path)
    assert len(pool) == len(np.load(pack)["images"]) > 0
    assert len(pool.labels.codes) == len(pool)


def test_the_pixels_and_labels_are_those_of_the_file(server, tmp_path):
    for name, images in (("mnist", GREY), ("cifar10", COLOUR), ("svhn", COLOUR)):
        with np.load(get(served(server, name), tmp_path)) as pack:
            np.testing.assert_array_equal(pack["images"], images)
            np.testing.assert_array_equal(pack["labels"], LABELS)


def test_pictures_in_archives_keep_their_classes_and_sizes(server, tmp_path):
    with np.load(get(served(server, "tiny_imagenet"), tmp_path)) as pack:
        assert pack["images"].shape == (2, 64, 64, 3)
        assert pack["images"][:, 0, 0, 0].tolist() == [90, 200]
        assert pack["class_names"][pack["labels"]].tolist() == ["n01", "n02"]
    with np.load(get(served(server, "fashion_product"), tmp_path)) as pack:
        assert pack["images"].shape == (2, 80, 60, 3)
        assert pack["images"][:, 40, 30, 0].tolist() == [50, 70]
        assert pack["class_names"][pack["labels"]].tolist() == ["Shoes", "Topwear"]


def test_a_pack_that_is_here_is_not_fetched_again(server, tmp_path):
    entry = served(server, "svhn")
    get(entry, tmp_path)
    get(entry, tmp_path)
    assert len(server.asked) == 1


def test_official_files_that_are_here_need_no_network(server, tmp_path):
    entry = served(server, "svhn")
    (tmp_path / "train_32x32.mat").write_bytes(OFFICIAL["svhn"]["train_32x32.mat"])
    get(entry, tmp_path)
    assert server.asked == []
    assert left_behind(tmp_path) == ["svhn.npz", "train_32x32.mat"]


def test_a_file_that_is_here_but_is_another_is_refused(server, tmp_path):
    (tmp_path / "train_32x32.mat").write_bytes(b"something else")
    with pytest.raises(InputError, match=r"is not the official file.*Delete it or move it away"):
        get(served(server, "svhn"), tmp_path)


def test_a_cut_download_goes_on_where_it_stopped(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "CHUNK", 500)
    entry, server.cut = served(server, "svhn"), 1000
    with pytest.raises(InputError, match="no connection"):
        get(entry, tmp_path)
    assert left_behind(tmp_path) == ["downloads/train_32x32.mat.part"]
    server.cut = None
    get(entry, tmp_path)
    assert server.asked == [None, "bytes=1000-"]
    assert left_behind(tmp_path) == ["svhn.npz"]


def test_a_wrong_checksum_leaves_nothing(server, tmp_path):
    entry = served(server, "svhn")
    content = OFFICIAL["svhn"]["train_32x32.mat"]
    server.files["train_32x32.mat"] = content[:-1] + b"!"
    with pytest.raises(InputError, match=r"not the official file \(expected .* but got"):
        get(entry, tmp_path)
    assert left_behind(tmp_path) == []


def test_a_mirror_helps_when_the_first_address_fails(server, tmp_path):
    entry = served(server, "svhn")
    good = entry.files[0]
    bad = f"http://127.0.0.1:{server.server_port}/gone"
    entry = replace(entry, files=(replace(good, urls=(bad, *good.urls)),))
    assert get(entry, tmp_path).is_file()


def test_an_absent_file_says_what_the_server_answers(server, tmp_path):
    entry = served(server, "svhn")
    server.files.clear()
    with pytest.raises(InputError, match=r"the server answers 404\. Try again later; or fetch"):
        get(entry, tmp_path)


def test_no_network_says_so_and_how_to_do_without(tmp_path):
    file = replace(CATALOGUE["svhn"].files[0], urls=("http://127.0.0.1:9/train_32x32.mat",))
    entry = replace(CATALOGUE["svhn"], files=(file,))
    with pytest.raises(InputError, match=r"no connection \(ConnectionError\).*put it into"):
        get(entry, tmp_path)
    assert left_behind(tmp_path) == []


def test_a_server_that_sends_too_much_is_not_listened_to(server, tmp_path):
    entry = served(server, "svhn")
    server.files["train_32x32.mat"] *= 2
    with pytest.raises(InputError, match="more than the .* bytes expected came"):
        get(entry, tmp_path)
    assert left_behind(tmp_path) == []


def test_a_disk_without_room_is_refused_before_anything_is_fetched(server, tmp_path, monkeypatch):
    Usage = namedtuple("Usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10))
    with pytest.raises(OutputError, match=r"'svhn' needs .* 0 MB are free. Make room"):
        get(served(server, "svhn"), tmp_path)
    assert server.asked == []


def test_a_disk_that_fills_up_leaves_no_half_pack(server, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    entry = served(server, "svhn")
    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OutputError, match="svhn.npz: No space left on device"):
        get(entry, tmp_path)
    assert left_behind(tmp_path) == ["downloads/train_32x32.mat"]


def test_a_disk_that_fills_up_while_fetching_says_so(server, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download.Resuming, "_copy", full)
    with pytest.raises(OutputError, match="Cannot write to .*: No space left on device"):
        get(served(server, "svhn"), tmp_path)


def test_of_two_that_get_one_data_set_at_once_one_is_refused(server, tmp_path):
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


def test_one_that_waited_finds_the_pack_of_the_other(server, tmp_path, monkeypatch):
    entry = served(server, "svhn")

    @contextmanager
    def after_another(_):
        np.savez(tmp_path / "svhn.npz", images=GREY)
        yield

    monkeypatch.setattr(download, "_alone", after_another)
    get(entry, tmp_path)
    assert server.asked == []


def test_different_data_sets_may_be_got_at_once(server, tmp_path):
    class Second(Silent):
        def start(self, *_):
            get(served(server, "mnist"), tmp_path)

    get(served(server, "svhn"), tmp_path, Second())
    assert left_behind(tmp_path) == ["mnist.npz", "svhn.npz"]


def test_a_killed_process_locks_nobody_out(server, tmp_path):
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / "svhn.lock").touch()
    (tmp_path / ".svhn.npz.1234").write_bytes(b"half")
    get(served(server, "svhn"), tmp_path)
    assert left_behind(tmp_path) == ["svhn.npz"]


def test_a_folder_that_takes_no_lock_is_told(server, tmp_path):
    (tmp_path / "downloads" / "svhn.lock").mkdir(parents=True)
    with pytest.raises(OutputError, match="Cannot write to .*downloads: unable to open"):
        get(served(server, "svhn"), tmp_path)


def test_a_pack_is_as_readable_as_any_other_file(server, tmp_path):
    before = os.umask(0o027)
    try:
        pack = get(served(server, "svhn"), tmp_path)
    finally:
        os.umask(before)
    assert pack.stat().st_mode & 0o777 == 0o640


def test_a_folder_that_cannot_be_made_is_told(server, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="Cannot make the folder"):
        get(served(server, "svhn"), tmp_path / "file")


@pytest.mark.parametrize("form", FORMS)
def test_a_broken_file_is_refused(form, tmp_path):
    path = tmp_path / "broken-images-idx3-ubyte.gz"
    path.write_bytes(b"PK\3\4 nonsense")
    with pytest.raises(InputError, match=r"Cannot (unpack|open)"):
        unpack(form, [path], (32, 32, 3))


def test_archives_without_their_images_are_refused(tmp_path):
    cases = [
        ("tiny-imagenet", zipped({"readme.txt": b"x"}), "it holds no images where they should be"),
        ("svhn", mat(COLOUR[:, :8], LABELS), "X has the shape"),
        ("svhn", mat(COLOUR, LABELS[:-1]), r"\d images of uint8 have \d labels"),
        ("idx", idx(GREY), "the file of the labels is not beside it"),
    ]
    for form, content, message in cases:
        path = tmp_path / "alone.gz"
        path.write_bytes(content)
        with pytest.raises(InputError, match=f"Cannot unpack .*{message}.* get the data set again"):
            unpack(form, [path], COLOUR.shape[1:])


def test_an_archive_with_a_folder_in_place_of_its_images_is_refused(tmp_path):
    with tarfile.open(tmp_path / "cifar.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("cifar-10-batches-bin/data_batch_1.bin")
        member.type = tarfile.DIRTYPE
        archive.addfile(member)
    with pytest.raises(InputError, match=r"data_batch_1.bin is no plain file. Delete it"):
        unpack("cifar", [tmp_path / "cifar.tar.gz"], (32, 32, 3))


def test_every_entry_tells_all_that_is_needed():
    for entry in CATALOGUE.values():
        assert entry.form in FORMS
        assert entry.licence
        assert entry.citation
        for file in entry.files:
            assert file.sha256 is None or len(file.sha256) == 64
            assert all(url.startswith("http") for url in file.urls)
    unknown = [e.name for e in CATALOGUE.values() if any(f.sha256 is None for f in e.files)]
    assert unknown == ["fashion_product"]
