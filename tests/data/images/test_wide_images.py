"""Images of more than eight bits: one range for all sets, fitted on the labelled one."""

import io

import numpy as np
import pytest
from PIL import Image

from mixmood.core.errors import UnreadableImageError
from mixmood.data.images.decode import decode, wide_values
from mixmood.data.images.pixel_range import PixelRange, fitted_range
from mixmood.data.images.pool import fit_pixel_range, scaled_alike
from mixmood.data.open import open_pool


def scans(n_images, most, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, most + 1, (n_images, 20, 20), dtype=np.uint16)


def saved(folder, images, suffix):
    folder.mkdir()
    for place, pixels in enumerate(images):
        Image.fromarray(pixels).save(folder / f"{place}.{suffix}")
    return folder


@pytest.mark.parametrize("suffix", ["png", "tiff"])
def test_twelve_bits_in_sixteen_bit_files_are_not_black(tmp_path, suffix):
    folder = saved(tmp_path / "scans", scans(10, 4095), suffix)
    pool = open_pool(folder)
    assert pool.picture(0).max() < 17
    labelled, _ = scaled_alike(pool, {})
    assert labelled.pixel_range.low <= 10
    assert 4080 <= labelled.pixel_range.high <= 4095
    assert labelled.picture(0).max() == 255


def test_all_sets_get_the_range_of_the_labelled_one():
    labelled, pools = scaled_alike(
        open_pool(scans(10, 4095)), {"bright": open_pool(scans(10, 65_535, 1))}
    )
    assert labelled.pixel_range == pools["bright"].pixel_range
    assert (pools["bright"].picture(0) == 255).mean() > 0.9


def test_eight_bits_need_no_range_and_are_left_as_they_are(tmp_path):
    pool = open_pool(saved(tmp_path / "photos", scans(3, 255).astype(np.uint8), "png"))
    assert fit_pixel_range(pool) is None
    assert scaled_alike(pool, {})[0] is pool
    pixels = pool.picture(0)
    assert np.array_equal(pool.scaled_by(PixelRange(0, 4095)).picture(0), pixels)


def test_features_have_no_range():
    assert fit_pixel_range(open_pool(np.ones((9, 3)))) is None


def test_a_hot_pixel_does_not_decide_the_range():
    values = np.full(10_000, 1000, dtype=np.uint16)
    values[:5000] = 100
    values[7] = 65_535
    assert fitted_range(values) == PixelRange(100, 1000)


def test_a_range_of_one_value_is_still_a_range():
    assert fitted_range(np.full(50, 7, dtype=np.uint16)) == PixelRange(7, 8)


def test_a_range_fits_what_is_neither_black_nor_white_by_it():
    pixel_range = PixelRange(0, 4095)
    assert pixel_range.fits(scans(1, 4095))
    assert not pixel_range.fits(scans(1, 255))
    assert not pixel_range.fits(scans(1, 65_535))


def test_float_files_beyond_0_to_1_are_read_with_a_range_only(tmp_path):
    buffer = io.BytesIO()
    Image.fromarray(np.linspace(-1000, 2000, 400, dtype=np.float32).reshape(20, 20)).save(
        buffer, format="TIFF"
    )
    with pytest.raises(UnreadableImageError, match="float pixels must be finite and in 0..1"):
        decode(buffer.getvalue(), "scan.tiff")
    picture = decode(buffer.getvalue(), "scan.tiff", pixel_range=PixelRange(-1000, 2000))
    assert (picture.min(), picture.max()) == (0, 255)


def test_values_that_are_not_finite_are_refused_with_a_range_too():
    buffer = io.BytesIO()
    Image.fromarray(np.array([[np.nan, 5.0]], dtype=np.float32)).save(buffer, format="TIFF")
    with pytest.raises(UnreadableImageError, match="its values are not finite"):
        decode(buffer.getvalue(), "scan.tiff", pixel_range=PixelRange(0, 9))


def test_damaged_files_have_no_values():
    with pytest.raises(UnreadableImageError, match="scan.tiff: cannot be decoded"):
        wide_values(b"II*\0 but nothing else", "scan.tiff")
    assert fit_pixel_range(open_pool([b"II*\0 no", b"II*\0 no"])) is None
