"""Small pools on disk, made anew for each test, and official files on a server of the test's."""

import gzip
import hashlib
import io
import tarfile
import threading
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from mixmood.data.readers.archives import TarSource, ZipSource
from mixmood.data.sets import CATALOGUE, RemoteFile


def saved(image, format="PNG", **options):
    """The bytes of a Pillow image in some format."""
    buffer = io.BytesIO()
    image.save(buffer, format=format, **options)
    return buffer.getvalue()


def encode(value, format="PNG", size=(5, 4)):
    """The bytes of an image of one grey value."""
    return saved(Image.new("L", size, value), format)


@pytest.fixture(scope="session")
def encoded():
    """Makes the bytes of a Pillow image in some format."""
    return saved


@pytest.fixture
def png():
    """Makes the bytes of a PNG of one grey value, by which a test knows it again."""
    return encode


@pytest.fixture
def tree(tmp_path):
    """Makes a folder of files from a dict of relative paths and grey values or bytes."""

    def make(files, root="pool"):
        for name, content in files.items():
            path = tmp_path / root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else encode(content))
        return tmp_path / root

    return make


@pytest.fixture
def values_of():
    """Reads a pool and gives the grey value of each image, in order."""

    def read(source):
        return [int(picture[0, 0, 0]) for picture in source.read(np.arange(len(source)))]

    return read


@pytest.fixture
def pack(tmp_path, png):
    """Makes an archive of some kind from a dict of names and grey values or bytes."""

    def make(kind, files, name="crawl"):
        path = tmp_path / f"{name}.{kind}"
        content = {k: v if isinstance(v, bytes) else png(v) for k, v in files.items()}
        if kind.endswith("zip"):
            how = zipfile.ZIP_STORED if kind == "stored.zip" else zipfile.ZIP_DEFLATED
            with zipfile.ZipFile(path, "w", how) as archive:
                for member, data in content.items():
                    archive.writestr(member, data)
        else:
            with tarfile.open(path, "w:gz" if kind == "tar.gz" else "w") as archive:
                for member, data in content.items():
                    info = tarfile.TarInfo(member)
                    info.size = len(data)
                    archive.addfile(info, io.BytesIO(data))
        return path

    return make


@pytest.fixture
def opened():
    """Opens an archive as what its name says it is."""

    def read(path):
        return (ZipSource if path.suffix == ".zip" else TarSource)(path, "crawl")

    return read


def idx(array):
    head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, dtype=">u4").tobytes()
    return gzip.compress(head + array.astype(np.uint8).tobytes(), mtime=0)


def jpeg(size, value):
    return saved(Image.new("RGB", size, (value, value, value)), "JPEG")


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


@pytest.fixture(scope="session")
def official():
    """Small data sets: their pixels and labels, their files, and what makes such files."""
    rng = np.random.default_rng(0)
    grey = rng.integers(0, 256, (6, 28, 28)).astype(np.uint8)
    colour = rng.integers(0, 256, (6, 32, 32, 3)).astype(np.uint8)
    labels = np.array([3, 1, 0, 2, 1, 3])
    cifar_rows = np.hstack([labels[:, None], colour.transpose(0, 3, 1, 2).reshape(6, -1)])
    cifar_rows = cifar_rows.astype(np.uint8)
    styles = "id,gender,masterCategory,subCategory\n7,Men,Apparel,Topwear\n5,Women,Footwear,Shoes\n"
    files = {
        "mnist": {
            "train-images-idx3-ubyte.gz": idx(grey),
            "train-labels-idx1-ubyte.gz": idx(labels),
        },
        "cifar10": {
            "cifar-10-binary.tar.gz": tarred(
                {
                    "cifar-10-batches-bin/data_batch_2.bin": cifar_rows[3:].tobytes(),
                    "cifar-10-batches-bin/data_batch_1.bin": cifar_rows[:3].tobytes(),
                    "cifar-10-batches-bin/test_batch.bin": cifar_rows[:1].tobytes(),
                    "cifar-10-batches-bin/batches.meta.txt": b"airplane\nautomobile\nbird\ncat\n\n",
                }
            )
        },
        "svhn": {"train_32x32.mat": mat(colour, np.where(labels == 0, 10, labels))},
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
                    "styles.csv": styles,
                    "images/7.jpg": jpeg((60, 80), 70),
                    "images/5.jpg": jpeg((61, 82), 50),
                    "images/9.jpg": jpeg((60, 80), 9),
                    "myntradataset/images/7.jpg": jpeg((60, 80), 1),
                }
            )
        },
    }
    return SimpleNamespace(
        files=files, grey=grey, colour=colour, labels=labels, idx=idx, mat=mat, zipped=zipped
    )


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
    """Serves the files that it is given, on this machine, until the test ends."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.files, running.asked, running.cut = {}, [], None
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def served(official):
    """Makes an entry of the catalogue whose files are small and on the test's server."""

    def make(server, name, **changes):
        server.files |= official.files[name]
        files = tuple(
            RemoteFile(
                file,
                (f"http://127.0.0.1:{server.server_port}/{file}",),
                len(content),
                hashlib.sha256(content).hexdigest(),
            )
            for file, content in official.files[name].items()
        )
        return replace(CATALOGUE[name], files=files, n_images=6, **changes)

    return make


@pytest.fixture
def left_behind():
    """Lists the files below a folder."""

    def find(home):
        return sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())

    return find
