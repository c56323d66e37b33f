"""DICOM files: windows, inverted grey, frames, bits, and headers that stay inside."""

import io
import logging
import sys
from pathlib import Path

import numpy as np
import pytest

import mixmood
from mixmood.core.errors import OptionError, UnreadableImageError
from mixmood.data.decoding.decode import decode
from mixmood.data.decoding.pixel_range import PixelRange
from mixmood.data.medical.dicom import DicomError, read_frame
from mixmood.data.medical.window import EXACT, SIGMOID, Window
from mixmood.data.pools.open import open_pool
from mixmood.data.pools.path_options import with_frames_option
from mixmood.data.pools.wide_images import fit_pixel_range

pydicom = pytest.importorskip("pydicom")
SHIPPED = Path(pydicom.__file__).parent / "data" / "test_files"
SECRET = "Doe^Jane^SECRET"


def shipped(name):
    return (SHIPPED / f"{name}.dcm").read_bytes()


def made(pixels, *, bits=12, kind="MONOCHROME2", **elements):
    """A file of these grey values, shape (frames, height, width) or (height, width)."""
    from pydicom.dataset import Dataset, FileMetaDataset
    from pydicom.uid import ExplicitVRLittleEndian

    data = Dataset()
    data.file_meta = FileMetaDataset()
    data.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    data.file_meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.2"
    data.file_meta.MediaStorageSOPInstanceUID = "1.2.3"
    data.PatientName, data.PatientID = SECRET, SECRET
    data.Rows, data.Columns = pixels.shape[-2:]
    if pixels.ndim == 3:
        data.NumberOfFrames = len(pixels)
    data.SamplesPerPixel, data.PhotometricInterpretation = 1, kind
    data.BitsAllocated, data.BitsStored, data.HighBit = 16, bits, bits - 1
    data.PixelRepresentation = int(pixels.dtype.kind == "i")
    data.PixelData = pixels.tobytes()
    for key, value in elements.items():
        setattr(data, key, value)
    buffer = io.BytesIO()
    pydicom.dcmwrite(buffer, data, enforce_file_format=True)
    return buffer.getvalue()


RAMP = np.arange(4096, dtype=np.uint16).reshape(64, 64)


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
@pytest.mark.parametrize("shape", ["LINEAR", EXACT, SIGMOID])
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

    for shape in ("LINEAR", EXACT, SIGMOID):
        raw = made(RAMP, WindowCenter=1500, WindowWidth=700, VOILUTFunction=shape)
        data = pydicom.dcmread(io.BytesIO(raw))
        theirs = apply_windowing(RAMP, data) / 4095 * 255
        ours = Window(1500, 700, shape).apply(RAMP)
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


def test_the_middle_frame_stands_for_a_file_unless_each_is_asked_for(tmp_path):
    stack = np.stack([RAMP // 4 + 1000 * k for k in range(3)]).astype(np.uint16)
    for name in ("sick", "well"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.dcm").write_bytes(made(stack))
    pool = open_pool(tmp_path)
    assert len(pool) == 2
    assert np.array_equal(pool.picture(0), decode(made(stack[1]), "b"))
    frames = open_pool(tmp_path, frames="each")
    assert (len(frames), frames.locate(4)) == (6, "well/a.dcm[1]")
    assert frames.labels.counts() == {"sick": 3, "well": 3}
    assert np.array_equal(frames.picture(5), decode(made(stack[2]), "b"))
    assert frames.fingerprint != pool.fingerprint
    assert frames.reading_order(np.array([5, 0, 3])).tolist() == [1, 2, 0]
    assert fit_pixel_range(frames).high > 2500


def test_frames_of_pools_with_other_images_and_broken_files(tmp_path, png):
    (tmp_path / "a.png").write_bytes(png(7))
    (tmp_path / "b.dcm").write_bytes(shipped("rtplan"))
    (tmp_path / "c.dcm").write_bytes(shipped("SC_rgb_rle_2frame"))
    found = list(open_pool(tmp_path, frames="each").read(range(4)))
    kinds = [type(picture).__name__ for picture in found]
    assert kinds == ["ndarray", "UnreadableImageError", "ndarray", "ndarray"]
    with pytest.raises(UnreadableImageError, match=r"b\.dcm: it is a DICOM file without pixels"):
        open_pool(tmp_path, frames="each").wide_values(1)
    assert fit_pixel_range(open_pool(tmp_path, frames="each")) is None
    with pytest.raises(OptionError, match="Unknown choice of frames 'all'. .*Known: middle, each"):
        open_pool(tmp_path, frames="all")


def test_a_path_may_say_that_each_frame_is_an_image(tmp_path):
    """So that lists of kept frames, `train` and `predict` find them, too."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.dcm").write_bytes(shipped("SC_rgb_rle_2frame"))
    assert len(open_pool(f"{tmp_path}/a")) == 1
    pool = open_pool(f"{tmp_path}/a?frames=each")
    assert (len(pool), pool.name, pool.locate(1)) == (2, "a", "x.dcm[1]")
    assert len(open_pool(f"{tmp_path}/a?frames=each", frames="each")) == 2
    (tmp_path / "list.csv").write_text("path,kind\na/x.dcm,brain\n")
    both = open_pool(f"{tmp_path}/list.csv?label=kind&frames=each")
    assert both.labels.counts() == {"brain": 2}
    with pytest.raises(OptionError, match="Unknown choice of frames 'all'"):
        open_pool(f"{tmp_path}/a?frames=all")


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("scans", "scans?frames=each"),
        ("a.csv?label=x", "a.csv?label=x&frames=each"),
        ("scans?frames=middle", "scans?frames=middle"),
        ("noise:gaussian", "noise:gaussian"),
        ("memory://scans", "memory://scans"),
    ],
)
def test_the_choice_of_frames_is_written_behind_a_path(what, expected):
    assert with_frames_option(what, "each") == expected
    assert with_frames_option(what, "middle") == what


def test_kept_frames_are_found_again(tmp_path, rng):
    for name in ("labelled", "pool"):
        (tmp_path / name).mkdir()
        for place in range(8):
            stack = rng.integers(0, 4096, (2, 16, 16)).astype(np.uint16)
            (tmp_path / name / f"{place}.dcm").write_bytes(made(stack))
    kept = mixmood.filter(
        tmp_path / "labelled",
        tmp_path / "pool",
        out=tmp_path / "kept.csv",
        frames="each",
        threshold=-1e9,
    )
    assert (kept.record.n_images, kept.record.n_kept) == (16, 16)
    second = (tmp_path / "kept.csv").read_text().splitlines()[2]
    assert second.startswith("0.dcm[1],pool?frames=each,1,")
    again = open_pool(tmp_path / "kept.csv")
    assert (len(again), again.locate(1)) == (16, "0.dcm[1]")


@pytest.mark.parametrize("frames", ["middle", "each"])
def test_kept_frames_are_scaled_by_the_range_of_the_ranking(frames, tmp_path):
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool" / "a.dcm").write_bytes(made(np.stack([RAMP // 8, RAMP // 4])))
    rows = "a.dcm[0],pool?frames=each,0,1\na.dcm[1],pool?frames=each,1,1\n"
    (tmp_path / "kept.csv").write_text(f"path,pool,index,keep\n{rows}")
    kept = open_pool(tmp_path / "kept.csv", frames=frames)
    fitted = fit_pixel_range(kept)
    assert fitted.high == pytest.approx(1023, abs=9)
    assert kept.picture(1).max() == round(1023 / 4095 * 255)
    assert kept.scaled_by(fitted).picture(1).max() == 255


def test_a_frame_that_is_not_there_is_refused():
    with pytest.raises(DicomError, match="a DICOM file of 2 frames; frame 2 was wanted"):
        read_frame(shipped("SC_rgb_rle_2frame"), 2)


def test_no_text_of_a_header_reaches_a_message_a_warning_or_a_log(caplog, recwarn):
    """Files with a secret in every text, damaged in many ways: the words of errors are ours."""
    raw = made(RAMP, WindowCenter=9, WindowWidth=9, StudyDescription=SECRET, Modality="XSECRET")
    raw = raw.replace(b"MONOCHROME2", b"SECRET_KIND", 1) + b"SECRET"
    rng = np.random.default_rng(0)
    messages = []
    with caplog.at_level(logging.DEBUG):
        for _ in range(300):
            data = bytearray(raw)
            for place in rng.integers(128, 1200, 4):
                data[place] = rng.integers(256)
            try:
                decode(bytes(data), "a.dcm")
            except UnreadableImageError as error:
                messages.append(str(error))
    assert messages
    seen = " ".join([*messages, caplog.text, *(str(warning.message) for warning in recwarn)])
    assert "SECRET" not in seen
    assert "Jane" not in seen


def test_without_pydicom_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydicom", None)
    with pytest.raises(UnreadableImageError, match=r"pip install 'mixmood\[medical\]'"):
        decode(shipped("CT_small"), "a.dcm")
