"""Every stored image becomes RGB uint8, within limits of size and without side effects."""

import contextlib
import io
import struct
import sys
import threading
import warnings
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import AvifImagePlugin, Image, ImageOps
from tests.fixtures.mutations import edited

from mixmood.core.errors import UnreadableImageError
from mixmood.data.images import decode as decode_module
from mixmood.data.images.decode import decode
from mixmood.data.open import open_pool

RNG = np.random.default_rng(0)
COLOUR = RNG.integers(0, 256, (6, 9, 3), dtype=np.uint8)
GREY = RNG.integers(0, 256, (6, 9), dtype=np.uint8)


def check_is_picture(picture, shape):
    assert picture.dtype == np.uint8
    assert picture.shape == shape
    assert picture.flags.c_contiguous


def check_is_grey_as(picture, values):
    check_is_picture(picture, (*values.shape, 3))
    for channel in range(3):
        np.testing.assert_array_equal(picture[:, :, channel], values)


@pytest.mark.parametrize("format", ["PNG", "BMP", "TIFF", "PPM", "GIF"])
def test_grey_is_repeated_over_the_channels(format, encoded):
    check_is_grey_as(decode(encoded(Image.fromarray(GREY), format), "x"), GREY)


@pytest.mark.parametrize("format", ["PNG", "BMP", "TIFF", "PPM"])
def test_rgb_comes_as_it_is(format, encoded):
    np.testing.assert_array_equal(decode(encoded(Image.fromarray(COLOUR), format), "x"), COLOUR)


def test_lossless_webp_comes_as_it_is(encoded):
    raw = encoded(Image.fromarray(COLOUR), "WEBP", lossless=True)
    np.testing.assert_array_equal(decode(raw, "x"), COLOUR)


def test_an_rgba_image_is_laid_on_white(encoded):
    pixels = np.zeros((1, 3, 4), dtype=np.uint8)
    pixels[0, :, :3] = [200, 100, 0]
    pixels[0, :, 3] = [255, 0, 51]
    picture = decode(encoded(Image.fromarray(pixels)), "x")
    np.testing.assert_array_equal(picture[0, 0], [200, 100, 0])
    np.testing.assert_array_equal(picture[0, 1], [255, 255, 255])
    # A fifth of the colour and four fifths of white.
    np.testing.assert_allclose(picture[0, 2], [244, 224, 204], atol=1)


def test_grey_with_alpha_is_laid_on_white(encoded):
    image = Image.merge("LA", [Image.new("L", (2, 1), 10), Image.frombytes("L", (2, 1), b"\xff\0")])
    check_is_grey_as(decode(encoded(image), "x"), np.array([[10, 255]]))


def test_a_palette_gives_its_colours_and_its_transparent_one_white(encoded):
    image = Image.new("P", (3, 1))
    image.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    image.putdata([0, 1, 2])
    opaque = decode(encoded(image), "x")
    assert opaque.tolist() == [[[255, 0, 0], [0, 255, 0], [0, 0, 255]]]
    clear = decode(encoded(image, transparency=1), "x")
    assert clear.tolist() == [[[255, 0, 0], [255, 255, 255], [0, 0, 255]]]


def test_a_transparent_colour_of_an_rgb_png_becomes_white(encoded):
    image = Image.fromarray(np.array([[[1, 2, 3], [9, 9, 9]]], dtype=np.uint8))
    picture = decode(encoded(image, transparency=(1, 2, 3)), "x")
    assert picture.tolist() == [[[255, 255, 255], [9, 9, 9]]]


def test_cmyk_becomes_rgb(encoded):
    red = Image.new("CMYK", (8, 8), (0, 255, 255, 0))
    picture = decode(encoded(red, "TIFF"), "x")
    assert picture[0, 0].tolist() == [255, 0, 0]
    jpeg = decode(encoded(red, "JPEG", quality=95), "x")
    np.testing.assert_allclose(jpeg[4, 4], [255, 0, 0], atol=8)


@pytest.mark.parametrize("format", ["PNG", "TIFF"])
def test_sixteen_bits_are_scaled_and_not_cut(format, encoded):
    wide = np.array([[0, 257, 32_896, 65_535]], dtype=np.uint16)
    picture = decode(encoded(Image.fromarray(wide), format), "x")
    check_is_grey_as(picture, np.array([[0, 1, 128, 255]]))


def test_a_sixteen_bit_pgm_is_scaled():
    raw = b"P5 2 1 65535\n" + struct.pack(">2H", 32_896, 65_535)
    check_is_grey_as(decode(raw, "x"), np.array([[128, 255]]))


def png(width, height, bits, data):
    """A PNG of colours by hand: its header may claim what its data does not hold."""

    def chunk(kind, body):
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    head = struct.pack(">IIBBBBB", width, height, bits, 2, 0, 0, 0)
    parts = [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(data)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def test_a_sixteen_bit_rgb_png_is_scaled():
    raw = png(1, 1, 16, b"\0" + struct.pack(">3H", 0, 32_896, 65_535))
    assert decode(raw, "x").tolist() == [[[0, 128, 255]]]


def test_one_bit_is_black_and_white(encoded):
    bits = np.array([[True, False, True]])
    expected = np.array([[255, 0, 255]])
    check_is_grey_as(decode(encoded(Image.fromarray(bits)), "x"), expected)
    check_is_grey_as(decode(bits, "x"), expected)


def test_a_float_tiff_in_unit_range_is_scaled(encoded):
    image = Image.fromarray(np.array([[0.0, 0.5, 1.0]], dtype=np.float32))
    check_is_grey_as(decode(encoded(image, "TIFF"), "x"), np.array([[0, 128, 255]]))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied(orientation, encoded):
    image = Image.fromarray(COLOUR)
    exif = Image.Exif()
    exif[0x0112] = orientation
    picture = decode(encoded(image, "PNG", exif=exif), "x")
    image.getexif()[0x0112] = orientation
    np.testing.assert_array_equal(picture, np.asarray(ImageOps.exif_transpose(image)))
    assert picture.shape == ((9, 6, 3) if orientation > 4 else (6, 9, 3))


def test_of_an_animation_the_first_frame_comes(encoded):
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "green", "blue")]
    for format in ("GIF", "WEBP", "PNG", "TIFF"):
        raw = encoded(frames[0], format, save_all=True, append_images=frames[1:])
        np.testing.assert_allclose(decode(raw, "x")[0, 0], [255, 0, 0], atol=2)


def test_a_pillow_image_is_decoded_like_its_file(encoded):
    image = Image.fromarray(np.dstack([COLOUR, GREY]))
    np.testing.assert_array_equal(decode(image, "x"), decode(encoded(image), "x"))


@pytest.mark.parametrize("mode", ["La", "RGBa", "PA", "RGBX", "HSV", "YCbCr", "I;16B", "I"])
def test_a_pillow_image_of_a_rare_mode_is_taken(mode):
    check_is_picture(decode(Image.new(mode, (3, 2)), "x"), (2, 3, 3))


@pytest.mark.parametrize(
    ("pixels", "expected"),
    [
        (GREY, GREY),
        (GREY[:, :, None], GREY),
        (np.full((2, 2), 65_535, dtype=np.uint16), np.full((2, 2), 255)),
        (np.full((2, 2), 65_535, dtype=">u2"), np.full((2, 2), 255)),
        (np.array([[0.0, 0.5, 1.0]]), np.array([[0, 128, 255]])),
        (np.array([[0.0, 1.0]], dtype=np.float16), np.array([[0, 255]])),
        (np.array([[[10, 255], [10, 0]]], dtype=np.uint8), np.array([[10, 255]])),
    ],
)
def test_arrays_of_grey_become_rgb(pixels, expected):
    check_is_grey_as(decode(pixels, "x"), expected)


def test_an_array_with_alpha_is_laid_on_white_as_a_file_is(encoded):
    pixels = np.dstack([COLOUR, GREY])
    by_file = decode(encoded(Image.fromarray(pixels)), "x").astype(int)
    np.testing.assert_allclose(decode(pixels, "x"), by_file, atol=1)


@pytest.mark.parametrize("size", [(1, 1), (30_000, 1), (1, 30_000)])
@pytest.mark.parametrize("format", ["PNG", "JPEG"])
def test_thin_and_tiny_images_are_images(size, format, encoded):
    picture = decode(encoded(Image.new("RGB", size, "white"), format), "x", side=96)
    check_is_picture(picture, (size[1], size[0], 3))


@pytest.mark.parametrize(
    ("side", "message"),
    [(13_300, r"13300 x 13300 pixels are more than the 175000000"), (60_000, r"3600000000 pixels")],
)
def test_a_decompression_bomb_is_refused_from_its_header(side, message):
    with pytest.raises(UnreadableImageError, match=message):
        decode(png(side, side, 8, b"\0" * 1000), "x")


def test_the_pixel_limit_holds_for_arrays_and_pillow_images(monkeypatch):
    monkeypatch.setattr(decode_module, "MAX_PIXELS", 53)
    with pytest.raises(UnreadableImageError, match=r"9 x 6 pixels are more than the 53"):
        decode(Image.fromarray(COLOUR), "x")
    with pytest.raises(UnreadableImageError, match=r"shape \(6, 9, 3\) is more than 53 pixels"):
        decode(COLOUR, "x")


def test_draft_mode_shrinks_a_large_jpeg_to_no_less_than_twice_the_side(encoded):
    raw = encoded(Image.effect_noise((1600, 1200), 20), "JPEG")
    assert decode(raw, "x").shape == (1200, 1600, 3)
    assert decode(raw, "x", side=96).shape == (300, 400, 3)
    assert decode(raw, "x", side=400).shape == (1200, 1600, 3)


def test_draft_mode_changes_a_shrunk_photo_by_little(encoded):
    y, x = np.mgrid[0:1200, 0:1600]
    smooth = np.dstack([x % 256, y % 256, (x + y) % 256]).astype(np.uint8)
    raw = encoded(Image.fromarray(smooth).resize((1600, 1200)), "JPEG", quality=95)
    full, draft = (
        np.asarray(Image.fromarray(decode(raw, "x", side=side)).resize((96, 96)), dtype=int)
        for side in (None, 96)
    )
    assert np.abs(full - draft).mean() < 2


@settings(max_examples=150, deadline=None)
@given(
    format=st.sampled_from(["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "ICO"]),
    edits=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=12),
    cut=st.one_of(st.none(), st.integers(0, 10**6)),
)
def test_mutated_files_give_a_picture_or_the_one_error(format, edits, cut, encoded):
    raw = edited(encoded(Image.fromarray(COLOUR), format), edits)
    data = raw[: cut % len(raw)] if cut is not None else raw
    try:
        picture = decode(data, "x", side=8)
    except UnreadableImageError as error:
        assert str(error).startswith("x: ")  # noqa: PT017
    else:
        assert picture.ndim == 3
        assert picture.shape[2] == 3


def test_warnings_of_pillow_do_not_leak_and_the_filters_come_back(encoded, monkeypatch):
    """Pillow warns of images above its own limit, and warnings are errors here."""
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 40)
    before = list(warnings.filters)
    assert decode(encoded(Image.fromarray(COLOUR)), "x").shape == (6, 9, 3)
    assert warnings.filters == before


def test_threads_leave_the_warning_filters_as_they_were(encoded):
    before = list(warnings.filters)
    raw = encoded(Image.fromarray(COLOUR))
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        work = [
            threading.Thread(target=lambda: [decode(raw, "x") for _ in range(50)]) for _ in "abcd"
        ]
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
    finally:
        sys.setswitchinterval(old)
    assert warnings.filters == before


def test_an_empty_file_is_unreadable():
    with pytest.raises(
        UnreadableImageError, match=r"cat\.png: cannot be decoded: the file is empty"
    ):
        decode(b"", "cat.png")


def test_a_text_is_unreadable():
    with pytest.raises(UnreadableImageError, match=r"not an image of a known format"):
        decode(b"hello", "x")


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
def test_a_truncated_image_is_unreadable(format, encoded):
    """Half of the pixels are not the image: none of them is used."""
    noise = np.random.default_rng(1).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    raw = encoded(Image.fromarray(noise), format)
    with pytest.raises(UnreadableImageError, match=r"^x: cannot be decoded: "):
        decode(raw[: len(raw) // 2], "x")


def test_a_format_outside_the_list_is_not_even_parsed(encoded):
    raw = encoded(Image.new("RGB", (4, 4)), "EPS")
    with pytest.raises(UnreadableImageError, match=r"not an image of a known format \(PNG, JPEG"):
        decode(raw, "x")


def test_true_32_bit_integers_are_refused(encoded):
    image = Image.fromarray(np.array([[0, 70_000]], dtype=np.int32))
    with pytest.raises(UnreadableImageError, match=r"x: cannot be decoded: its 32-bit values"):
        decode(encoded(image, "TIFF"), "x")


@pytest.mark.parametrize(
    ("pixels", "message"),
    [
        (np.array([[0.0, np.nan]]), r"x: cannot be decoded: float pixels must be .* nan"),
        (np.array([[0.0, np.inf]]), r"float pixels must be finite and in 0..1, got 0 to inf"),
        (np.array([[0.0, 255.0]]), r"got 0 to 255; divide by the largest"),
        (np.array([[-0.1, 0.5]]), r"got -0.1 to 0.5"),
        (np.zeros((2, 2), dtype=np.int64), r"must be uint8, uint16, bool or float .* got int64"),
        (np.zeros((2, 2), dtype=object), r"got object"),
        (np.zeros((3, 4, 5), dtype=np.uint8), r"got shape \(3, 4, 5\)"),
        (np.zeros(4, dtype=np.uint8), r"got shape \(4,\)"),
        (np.zeros((0, 4), dtype=np.uint8), r"no pixels \(shape \(0, 4\)\)"),
    ],
)
def test_arrays_that_are_no_pictures_are_unreadable(pixels, message):
    with pytest.raises(UnreadableImageError, match=message):
        decode(pixels, "x")


def test_a_picture_object_without_pixels_is_unreadable():
    with pytest.raises(
        UnreadableImageError, match=r"x: cannot be decoded: it has no pixels \(0 x 5\)"
    ):
        decode(Image.new("RGB", (0, 5)), "x")


@settings(max_examples=100, deadline=None)
@given(
    start=st.sampled_from([b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*", b"P6 "]),
    rest=st.binary(max_size=200),
)
def test_arbitrary_bytes_give_a_picture_or_the_one_error(start, rest):
    with contextlib.suppress(UnreadableImageError):
        decode(start + rest, "x")


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
