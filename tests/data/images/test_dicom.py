"""DICOM files: windows, inverted grey, bits, and headers that stay inside."""

import io
import logging
import sys

import numpy as np
import pytest
from tests.fixtures.dicom_files import RAMP, SECRET, made, shipped

from mixmood.core.errors import UnreadableImageError
from mixmood.data.images.decode import decode
from mixmood.data.images.pixel_range import PixelRange
from mixmood.data.images.pool import fit_pixel_range
from mixmood.data.open import open_pool

pydicom = pytest.importorskip("pydicom")

SHAPES = ("LINEAR", "LINEAR_EXACT", "SIGMOID")


def test_the_window_of_a_file_decides_black_and_white():
    picture = decode(made(RAMP, WindowCenter=2048, WindowWidth=1024), "a.dcm")
    grey = picture[:, :, 0].ravel()
    assert (grey[1500], grey[2048], grey[2600]) == (0, 128, 255)
    assert (picture[:, :, 0] == picture[:, :, 2]).all()


def test_slope_and_intercept_come_before_the_window():
    elements = {"RescaleSlope": 2, "RescaleIntercept": -1000, "WindowCenter": 0, "WindowWidth": 401}
    grey = decode(made(RAMP, **elements), "a.dcm")[:, :, 0].ravel()
    assert (grey[399], grey[500], grey[601]) == (0, 128, 255)


@pytest.mark.parametrize(
    ("slope", "intercept"), [("0", "5"), ("1e300", "0"), ("1", "-1e300"), ("1e-300", "0")]
)
def test_a_slope_or_an_intercept_beyond_all_modalities_leaves_no_range(slope, intercept):
    with pytest.raises(UnreadableImageError, match="slope and intercept leave no range of values"):
        decode(made(RAMP, RescaleSlope=slope, RescaleIntercept=intercept), "a.dcm")


@pytest.mark.parametrize(("centre", "width"), [("1e300", "9"), ("0", "1e300"), ("0", "1e-300")])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_window_beyond_all_modalities_counts_as_none(shape, centre, width):
    """The arithmetic on it would overflow, with a warning for the user."""
    odd = made(RAMP, WindowCenter=centre, WindowWidth=width, VOILUTFunction=shape)
    assert np.array_equal(decode(odd, "a"), decode(made(RAMP), "a"))


def test_of_several_windows_the_first_counts():
    several = made(RAMP, WindowCenter=[2048, 100], WindowWidth=[1024, 50])
    one = made(RAMP, WindowCenter=2048, WindowWidth=1024)
    assert np.array_equal(decode(several, "a"), decode(one, "a"))


def test_windows_of_the_standard_agree_with_pydicom():
    from pydicom.pixels import apply_windowing

    for shape in SHAPES:
        raw = made(RAMP, WindowCenter=1500, WindowWidth=700, VOILUTFunction=shape)
        data = pydicom.dcmread(io.BytesIO(raw))
        theirs = apply_windowing(RAMP, data) / 4095 * 255
        ours = decode(raw, "a.dcm")[:, :, 0].astype(float)
        assert np.abs(ours - theirs).max() <= 0.51


def test_small_values_are_white_in_monochrome1():
    plain = decode(made(RAMP), "a.dcm")
    inverted = decode(made(RAMP, kind="MONOCHROME1"), "a.dcm")
    assert np.array_equal(inverted, 255 - plain)


def test_without_a_window_the_bits_or_the_range_of_the_ranking_decide():
    raw = made(RAMP // 4)
    assert decode(raw, "a.dcm").max() == round(1023 / 4095 * 255)
    assert decode(raw, "a.dcm", pixel_range=PixelRange(0, 1023)).max() == 255


def test_signed_values_are_scaled_from_the_smallest():
    grey = decode(made(RAMP.astype(np.int16) - 2048), "a.dcm")[:, :, 0].ravel()
    assert (grey[0], grey[-1]) == (0, 255)


def test_the_range_is_fitted_on_files_without_a_window_only(tmp_path):
    (tmp_path / "a.dcm").write_bytes(made(RAMP // 8))
    assert fit_pixel_range(open_pool(tmp_path)).high == pytest.approx(511, abs=2)
    (tmp_path / "a.dcm").write_bytes(made(RAMP, WindowCenter=9, WindowWidth=9))
    assert fit_pixel_range(open_pool(tmp_path)) is None


def test_a_voi_table_is_used_where_there_is_one():
    from pydicom.dataset import Dataset
    from pydicom.sequence import Sequence

    item = Dataset()
    item.LUTDescriptor, item.LUTData = [4096, 0, 8], [255 - k // 16 for k in range(4096)]
    item["LUTData"].VR = "US"
    grey = decode(made(RAMP, VOILUTSequence=Sequence([item])), "a.dcm")[:, :, 0].ravel()
    assert (grey[0], grey[-1]) == (255, 0)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("CT_small", (128, 128, 3)),
        ("MR_small_RLE", (64, 64, 3)),
        ("MR_small_bigendian", (64, 64, 3)),
        ("SC_rgb_jpeg_dcmtk", (100, 100, 3)),
        ("SC_rgb_rle_16bit", (100, 100, 3)),
        ("examples_palette", (350, 800, 3)),
        ("examples_ybr_color", (240, 320, 3)),
        ("693_J2KI", (512, 512, 3)),
    ],
)
def test_files_of_pydicom_are_read(name, shape):
    picture = decode(shipped(name), name)
    assert picture.shape == shape
    assert picture.max() > picture.min()


def test_the_ways_to_store_one_image_give_the_same_pixels():
    plain = decode(shipped("MR_small"), "a")
    for name in ("MR_small_RLE", "MR_small_bigendian", "MR_small_implicit", "MR_small_expb"):
        assert np.array_equal(decode(shipped(name), name), plain)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rtplan", "it is a DICOM file without pixels"),
        ("MR_small_jpeg_ls_lossless", "in JPEG-LS Lossless .* no decoder is installed; install py"),
        (
            "JPGExtended",
            r"in JPEG Extended \(Process 2 and 4\), which the installed decoders cannot",
        ),
        ("image_dfl", "it is a deflated DICOM file; save it in another transfer syntax"),
        ("MR_truncated", r"it is a damaged or unusual DICOM file \(ValueError\)"),
    ],
)
def test_what_cannot_be_read_is_named(name, message):
    with pytest.raises(UnreadableImageError, match=message):
        decode(shipped(name), name)


TRIPLE = {"SamplesPerPixel": 3, "PlanarConfiguration": 0, "Rows": 64}
HSV = TRIPLE | {"PhotometricInterpretation": "HSV"}
"""Of an earlier standard: read as RGB, its colours would be wrong."""


@pytest.mark.parametrize(
    ("n_copies", "elements", "message"),
    [
        (1, {"NumberOfFrames": -1}, "it is a DICOM file without frames"),
        (3, TRIPLE, "a DICOM file of grey values with several samples per pixel"),
        (
            4,
            {"BitsAllocated": 64, "BitsStored": 40, "HighBit": 39, "Rows": 64},
            "its header states 40 bits per pixel; 1 to 32 are allowed",
        ),
        (1, {"PhotometricInterpretation": "RGB"}, "a DICOM file of colours in an unknown form"),
        (3, HSV, "a DICOM file of colours in an unknown form"),
    ],
)
def test_a_header_that_no_image_has_is_named(n_copies, elements, message):
    with pytest.raises(UnreadableImageError, match=message):
        decode(made(np.tile(RAMP, (n_copies, 1)), **elements), "a.dcm")


def test_a_number_of_pixels_that_no_image_has_is_refused_before_decoding():
    with pytest.raises(
        UnreadableImageError, match="it has 4294836225 pixels; 1 to 175000000 are allowed"
    ):
        decode(made(RAMP, Rows=65535, Columns=65535), "a.dcm")


def test_no_text_of_a_header_reaches_a_message_a_warning_or_a_log(recwarn, monkeypatch):
    """Files with a secret in every text, damaged in many ways: the words of errors are ours."""
    raw = made(RAMP, WindowCenter=9, WindowWidth=9, StudyDescription=SECRET, Modality="XSECRET")
    raw = raw.replace(b"MONOCHROME2", b"SECRET_KIND", 1) + b"SECRET"
    rng = np.random.default_rng(0)
    messages, logged = [], []
    monkeypatch.setattr(logging.Logger, "handle", lambda _, record: logged.append(record))
    for _ in range(300):
        data = bytearray(raw)
        for place in rng.integers(128, 1200, 4):
            data[place] = rng.integers(256)
        try:
            decode(bytes(data), "a.dcm")
        except UnreadableImageError as error:
            messages.append(str(error))
    assert messages
    messages += [record.getMessage() for record in logged]
    seen = " ".join([*messages, *(str(warning.message) for warning in recwarn)])
    assert "SECRET" not in seen
    assert "Jane" not in seen


def test_without_pydicom_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydicom", None)
    with pytest.raises(UnreadableImageError, match=r"pip install 'mixmood\[medical\]'"):
        decode(shipped("CT_small"), "a.dcm")
