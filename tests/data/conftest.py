"""Small pools on disk, made anew for each test."""

import io

import numpy as np
import pytest
from PIL import Image


def encode(value, format="PNG", size=(5, 4)):
    """The bytes of an image of one grey value."""
    buffer = io.BytesIO()
    Image.new("L", size, value).save(buffer, format=format)
    return buffer.getvalue()


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
