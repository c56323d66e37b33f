"""The frames of DICOM files: the middle one or each, kept, scaled and found again."""

import numpy as np
import pytest
from tests.fixtures.dicom_files import RAMP, made, shipped

import mixmood
from mixmood.core.errors import OptionError, UnreadableImageError
from mixmood.data.images.decode import decode
from mixmood.data.images.dicom import DicomError, read_frame
from mixmood.data.images.names import with_frames_option
from mixmood.data.images.pool import fit_pixel_range
from mixmood.data.open import open_pool


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
