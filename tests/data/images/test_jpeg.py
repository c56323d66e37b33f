"""The quick way with JPEGs gives what Pillow gives, or nothing."""

import io

import numpy as np
import pytest
from PIL import ExifTags, Image

from mixmood.core.errors import UnreadableImageError
from mixmood.data.images import decode as decoding
from mixmood.data.images.decode import MAX_PIXELS, decode, decode_plain_jpeg, decode_square


@pytest.fixture
def jpeg(rng):
    def make(size=(64, 48), mode="RGB", **options):
        coarse = rng.integers(0, 256, size=(5, 4, 3), dtype=np.uint8)
        picture = Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC).convert(mode)
        file = io.BytesIO()
        picture.save(file, "JPEG", **options)
        return file.getvalue()

    return make


def by_pillow(raw):
    return np.asarray(Image.open(io.BytesIO(raw)).convert("RGB"))


@pytest.mark.parametrize("subsampling", ["4:4:4", "4:2:2", "4:2:0"])
@pytest.mark.parametrize("size", [(1, 1), (3, 7), (17, 31), (64, 48), (300, 2)])
@pytest.mark.parametrize("progressive", [False, True])
def test_the_pixels_are_those_of_pillow(jpeg, size, subsampling, progressive):
    raw = jpeg(size, quality=85, subsampling=subsampling, progressive=progressive)
    assert np.array_equal(decode_plain_jpeg(raw, MAX_PIXELS), by_pillow(raw))


@pytest.mark.parametrize("quality", [1, 30, 95, 100])
def test_so_are_those_of_every_quality_and_of_grey_ones(jpeg, quality):
    for mode in ("RGB", "L"):
        raw = jpeg(mode=mode, quality=quality)
        assert np.array_equal(decode_plain_jpeg(raw, MAX_PIXELS), by_pillow(raw))


def test_what_is_not_a_plain_jpeg_is_left_to_pillow(jpeg, rng):
    turned = Image.Exif()
    turned[ExifTags.Base.Orientation] = 6
    png = io.BytesIO()
    Image.new("RGB", (4, 4)).save(png, "PNG")
    for raw in (
        jpeg(exif=turned),
        jpeg(mode="CMYK"),
        jpeg(keep_rgb=True),
        png.getvalue(),
        b"",
        b"\xff\xd8\xff",
        rng.bytes(200),
    ):
        assert decode_plain_jpeg(raw, MAX_PIXELS) is None


def test_a_turned_picture_is_still_turned(jpeg):
    turned = Image.Exif()
    turned[ExifTags.Base.Orientation] = 6
    assert decode(jpeg((20, 10), exif=turned), "x").shape == (20, 10, 3)


def test_what_is_larger_than_wanted_is_left_to_pillow(jpeg):
    raw = jpeg((64, 48))
    assert decode_plain_jpeg(raw, 64 * 48, below=49) is not None
    assert decode_plain_jpeg(raw, 64 * 48 - 1) is None
    assert decode_plain_jpeg(raw, 64 * 48, below=48) is None


@pytest.mark.parametrize("shorter", [31, 32, 63, 64, 65, 127, 128, 129, 300])
def test_squares_are_those_of_pillow_on_both_sides_of_every_limit(jpeg, monkeypatch, shorter):
    """With a side of 32, Pillow reduces from 128 pixels on."""
    raw = jpeg((shorter + 40, shorter))
    quick = decode_square(raw, "x", 32)
    monkeypatch.setattr(decoding, "decode_plain_jpeg", lambda *_: None)
    assert np.array_equal(quick, decode_square(raw, "x", 32))


def test_a_kind_that_the_quick_way_does_not_know_is_read_by_pillow(jpeg):
    """Subsampling 4:4:1 is a KeyError inside of simplejpeg."""
    raw = bytearray(jpeg((64, 48)))
    raw[raw.index(b"\xff\xc0") + 11] = 0x14
    assert decode_plain_jpeg(bytes(raw), MAX_PIXELS) is None
    assert np.array_equal(decode(bytes(raw), "x"), by_pillow(bytes(raw)))


def outcome(function, raw):
    try:
        return function(raw, "x", 32).tobytes()
    except UnreadableImageError as error:
        return str(error)


@pytest.mark.parametrize("function", [decode, decode_square])
def test_damaged_files_have_the_fate_that_pillow_gives_them(jpeg, rng, monkeypatch, function):
    whole = jpeg((40, 30), quality=60)
    damaged = [whole[:end] for end in range(0, len(whole), 7)]
    for _ in range(300):
        bytes_ = np.frombuffer(whole, np.uint8).copy()
        bytes_[rng.integers(len(bytes_), size=rng.integers(1, 4))] = rng.integers(256)
        damaged.append(bytes_.tobytes())
    quick = [outcome(function, raw) for raw in damaged]
    monkeypatch.setattr(decoding, "decode_plain_jpeg", lambda *_: None)
    assert quick == [outcome(function, raw) for raw in damaged]
