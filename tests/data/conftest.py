"""Small pools on disk, made anew for each test."""

import io
import tarfile
import zipfile

import numpy as np
import pytest
from PIL import Image

from mixmood.data.tars import TarSource
from mixmood.data.zips import ZipSource


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
