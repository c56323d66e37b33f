"""Photos of mixed sizes: square, small, and decoded no larger than needed."""

import io

import numpy as np
import pytest
from PIL import Image

from mixmood.api.train import train
from mixmood.core.listener import Recorder, Silent
from mixmood.data.open import open_pool
from mixmood.ssl.pools import common_side, load_pictures


def write_photo(path, size, rng):
    path.parent.mkdir(parents=True, exist_ok=True)
    low = rng.integers(0, 256, (max(2, size[1] // 8), max(2, size[0] // 8), 3), dtype=np.uint8)
    Image.fromarray(low).resize(size).save(path, quality=90)


@pytest.fixture
def photos(tmp_path):
    """Six photos, the first one 137 wide and 324 high."""
    rng = np.random.default_rng(0)
    sizes = [(137, 324), (640, 480), (500, 375), (320, 240), (240, 320), (700, 500)]
    for number, size in enumerate(sizes):
        write_photo(tmp_path / "labelled" / ("ab"[number % 2]) / f"{number}.jpg", size, rng)
    return tmp_path / "labelled"


def test_mixed_photos_become_small_squares_whatever_the_first_one_is(photos, tmp_path):
    assert common_side(open_pool(photos)) == 32
    said = Recorder()
    trained = train(
        photos, photos, algorithm="mixmatch", model="wrn-tiny", updates=1, epochs=1,
        batch_size=2, out=tmp_path / "run", listener=said,
    )  # fmt: skip
    assert "labelled: 6 images resized to 32 x 32 pixels." in said.notes
    assert trained.record.n_parameters < 10_000


def test_small_images_keep_their_size(tmp_path):
    rng = np.random.default_rng(0)
    for number in range(4):
        write_photo(tmp_path / "a" / f"{number}.png", (28, 28), rng)
    assert common_side(open_pool(tmp_path)) == 28


def test_a_pool_whose_first_images_are_broken_gets_a_size_all_the_same(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.png").write_bytes(b"broken")
    assert common_side(open_pool(tmp_path)) == 32


def test_a_camera_jpeg_is_decoded_at_a_reduced_size(tmp_path, monkeypatch):
    write_photo(tmp_path / "large.jpg", (1600, 1200), np.random.default_rng(0))
    pool, sizes = open_pool(tmp_path), []
    whole_picture = pool.picture

    def noting(index, side=None):
        picture = whole_picture(index, side)
        sizes.append(picture.shape[:2])
        return picture

    monkeypatch.setattr(pool, "picture", noting)
    small = load_pictures(pool, (32, 32), listener=Silent()).pixels[0]
    assert sizes == [(150, 200)]
    whole = Image.open(io.BytesIO((tmp_path / "large.jpg").read_bytes())).resize((32, 32))
    assert np.abs(small.astype(int) - np.asarray(whole).astype(int)).mean() < 8
