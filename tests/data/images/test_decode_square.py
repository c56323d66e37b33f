"""The square that a backbone sees: the whole image, averaged, from whatever it is stored as."""

import io

import numpy as np
import pytest
from PIL import Image

from mixmood.core.errors import UnreadableImageError
from mixmood.data.images.decode import decode, decode_squares


def decode_square(raw, where, side):
    (square,) = decode_squares(raw, where, (side,))
    return square


def encoded(picture, format="PNG", **options):
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, format=format, **options)
    return buffer.getvalue()


@pytest.fixture
def picture(rng):
    return rng.integers(0, 256, size=(40, 70, 3), dtype=np.uint8)


def test_files_arrays_and_pillow_images_of_the_same_pixels_give_the_same_square(picture):
    wanted = np.asarray(Image.fromarray(picture).resize((96, 96), Image.Resampling.BILINEAR))
    for raw in (picture, encoded(picture), Image.fromarray(picture)):
        assert np.array_equal(decode_square(raw, "x", 96), wanted)


def test_an_array_of_the_right_size_passes_unchanged(rng):
    picture = rng.integers(0, 256, size=(96, 96, 3), dtype=np.uint8)
    assert np.array_equal(decode_square(picture, "x", 96), picture)


def test_shrinking_averages_over_all_pixels():
    """A checkerboard becomes grey; picking single pixels would give black or white."""
    board = (np.indices((768, 768)).sum(axis=0) % 2 * 255).astype(np.uint8)
    for raw in (board, encoded(board)):
        assert np.abs(decode_square(raw, "x", 96).astype(int) - 128).max() <= 1


def test_orientation_and_transparency_count_as_in_decode(picture):
    exif = Image.Exif()
    exif[0x0112] = 6
    alpha = np.dstack([picture, np.full(picture.shape[:2], 100, np.uint8)])
    for raw in (encoded(picture, exif=exif), encoded(alpha), encoded(picture[:, :, 0])):
        upright = Image.fromarray(decode(raw, "x")).resize((64, 64), Image.Resampling.BILINEAR)
        assert np.array_equal(decode_square(raw, "x", 64), np.asarray(upright))


def test_a_large_photo_decoded_small_is_nearly_the_same(rng):
    smooth = Image.fromarray(rng.integers(0, 256, size=(12, 16, 3), dtype=np.uint8))
    photo = np.asarray(smooth.resize((1600, 1200), Image.Resampling.BICUBIC))
    raw = encoded(photo, "JPEG", quality=95)
    full = Image.fromarray(decode(raw, "x")).resize((96, 96), Image.Resampling.BILINEAR)
    difference = np.abs(decode_square(raw, "x", 96).astype(int) - np.asarray(full).astype(int))
    assert difference.mean() < 2


def test_the_images_of_the_caller_stay_as_they_are(picture):
    image = Image.fromarray(picture)
    decode_square(image, "x", 96)
    assert image.size == (70, 40)


def test_what_cannot_be_decoded_is_named():
    with pytest.raises(UnreadableImageError, match="cat.png: cannot be decoded"):
        decode_square(b"no image", "cat.png", 96)
    with pytest.raises(UnreadableImageError, match="row 3: cannot be decoded: it has no pixels"):
        decode_square(np.empty((0, 4, 3), np.uint8), "row 3", 96)


@pytest.mark.parametrize("size", [(60, 50), (300, 280), (700, 500), (1900, 1400)])
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "progressive"])
def test_several_squares_of_an_image_are_those_that_each_side_alone_gives(size, kind):
    picture = np.random.default_rng(0).integers(0, 256, (size[1] // 10, size[0] // 10, 3), np.uint8)
    buffer = io.BytesIO()
    image = Image.fromarray(picture).resize(size)
    if kind == "PNG":
        image.save(buffer, "PNG", compress_level=1)
    else:
        image.save(buffer, "JPEG", progressive=kind == "progressive")
    sides = (96, 160, 224)
    together = decode_squares(buffer.getvalue(), "x", sides)
    for side, square in zip(sides, together, strict=True):
        assert np.array_equal(square, decode_square(buffer.getvalue(), "x", side))
