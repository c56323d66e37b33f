"""AVIF is read with one decoder thread; HEIC is named."""

import io

import numpy as np
import pytest
from PIL import AvifImagePlugin, Image

from mixmood.core.errors import UnreadableImageError
from mixmood.data.images.decode import decode
from mixmood.data.open import open_pool


@pytest.fixture
def avif():
    buffer = io.BytesIO()
    Image.new("RGB", (16, 12), (200, 30, 30)).save(buffer, format="AVIF")
    return buffer.getvalue()


def test_an_avif_file_is_an_image_of_a_pool(tmp_path, avif, monkeypatch):
    monkeypatch.setattr(AvifImagePlugin, "DEFAULT_MAX_THREADS", 0)
    (tmp_path / "rose.AVIF").write_bytes(avif)
    picture = open_pool(tmp_path).picture(0)
    assert picture.shape == (12, 16, 3)
    assert np.abs(picture.astype(int) - (200, 30, 30)).max() < 12
    assert AvifImagePlugin.DEFAULT_MAX_THREADS == 1


def test_a_cut_avif_file_is_unreadable(avif):
    with pytest.raises(UnreadableImageError, match="a.avif: cannot be decoded"):
        decode(avif[: len(avif) // 2], "a.avif")


def test_a_heic_file_is_named_whatever_its_suffix():
    with pytest.raises(UnreadableImageError, match=r"it is a HEIC image; convert it .* mogrify"):
        decode(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "IMG_1.jpg")
