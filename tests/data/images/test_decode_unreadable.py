"""What is no picture gives an UnreadableImageError that names it and says why."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from mixmood.core.errors import UnreadableImageError
from mixmood.data.images.decode import decode


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
