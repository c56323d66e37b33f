"""The frames of DICOM files: the middle one or each, kept, scaled and found again."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
from tests.fixtures.dicom_files import RAMP, made, shipped

import mixmood
from mixmood.core.cache import FeatureCache
from mixmood.core.errors import InputError, OptionError, UnreadableImageError
from mixmood.data.images.decode import decode
from mixmood.data.images.dicom import DicomError, read_frame
from mixmood.data.images.labels import groups_of, needed_labels
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


def test_frames_have_the_groups_of_their_files_and_say_why_these_have_no_classes(tmp_path):
    stack = np.stack([RAMP // 4] * 2).astype(np.uint16)
    for name in "abc":
        (tmp_path / f"{name}.dcm").write_bytes(made(stack))
    rows = "a.dcm,sick,p1\nb.dcm,well,p2\nc.dcm,,p1\n"
    (tmp_path / "list.csv").write_text(f"path,label,patient\n{rows}")
    frames = open_pool(tmp_path / "list.csv", frames="each")
    assert groups_of(frames, "patient").tolist() == [0, 0, 1, 1, 0, 0]
    assert frames.column("age") is None
    assert "1 of its 3 labels are blank" in frames.why_unlabelled
    (tmp_path / "labels.csv").write_text("path,label\na.dcm,sick\nb.dcm,well\n")
    with pytest.raises(InputError, match="has no label for 1 of 3 images, such as c.dcm"):
        needed_labels(open_pool(tmp_path, frames="each"))


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


pydicom = pytest.importorskip("pydicom")
SHIPPED = Path(pydicom.__file__).parent / "data" / "test_files"
CT, MR = ((SHIPPED / f"{name}.dcm").read_bytes() for name in ("CT_small", "MR_small"))
KINDS = ["zip", "stored.zip", "tar", "tar.gz"]
FILES = {
    "IM000001": CT,
    "1.2.840.113619.2": MR,
    "DICOMDIR": CT,
    "LICENSE": b"text" * 99,
    "EMPTY": b"",
    "2": b"1234",
}
"""As archives of hospitals name them; two of them are images."""


def names_of(pool):
    return [pool.locate(index).rpartition("/")[2] for index in range(len(pool))]


def test_files_without_a_suffix_are_known_by_their_first_bytes(tmp_path):
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    pool = open_pool(tmp_path)
    assert names_of(pool) == ["IM000001", "1.2.840.113619.2"]
    assert pool.picture(0).shape == (128, 128, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_members_without_a_suffix_are_known_by_their_first_bytes(kind, pack):
    """Images around them are still found at their places."""
    files = {"a/0.png": 5, **{f"a/{name}": data for name, data in FILES.items()}, "b/9.png": 7}
    pool = open_pool(pack(kind, files | {"__MACOSX/IM1": CT, ".hidden/IM1": CT, "b/": b""}))
    assert names_of(pool) == ["0.png", "9.png", "IM000001", "1.2.840.113619.2"]
    assert pool.labels.counts() == {"a": 3, "b": 1}
    assert [int(pool.picture(place).max()) for place in (0, 1)] == [5, 7]
    assert pool.fetch(2) == CT
    assert pool.fetch(3) == MR


@pytest.mark.parametrize("kind", ["tar", "tar.gz"])
def test_the_kept_index_of_an_archive_knows_members_without_a_suffix(
    kind, pack, tmp_path, monkeypatch
):
    path = pack(kind, FILES)
    monkeypatch.setattr("mixmood.data.readers.archives.REST_NS", 0)
    with FeatureCache(tmp_path / "cache") as cache:
        first = open_pool(path, cache=cache)
        assert cache.info().n_archives == 1
        monkeypatch.setattr("mixmood.data.readers.archives.read_tar_members", None)
        assert names_of(open_pool(path, cache=cache)) == names_of(first)


@pytest.mark.parametrize("kind", KINDS)
def test_an_archive_without_dicom_has_no_images(kind, pack):
    files = {"LICENSE": b"text" * 99, "short": b"DICM", "shifted": bytes(127) + b"DICM"}
    with pytest.raises(InputError, match="No images in the archive"):
        open_pool(pack(kind, files))


def test_a_packed_member_is_known_whatever_its_codes(pack):
    """A table of codes for all bytes stands before the first of them."""
    rng = np.random.default_rng(0)
    skewed = np.minimum(rng.geometric(0.02, 60_128) - 1, 255).astype(np.uint8).tobytes()
    pool = open_pool(pack("zip", {"IM1": skewed[:128] + b"DICM" + skewed[128:]}))
    assert names_of(pool) == ["IM1"]


def test_an_encrypted_or_displaced_member_without_a_suffix_is_no_image(pack):
    """Nothing can be known of it, and nothing falls."""
    path = pack("stored.zip", {"IM1": CT, "a.png": 1})
    whole = path.read_bytes()
    table = whole.index(b"PK\1\2")
    for place, value in ((table + 8, 1), (table + 44, 0x7F), (table + 42, 3)):
        data = bytearray(whole)
        data[place] = value
        path.write_bytes(data)
        assert names_of(open_pool(path)) == ["a.png"]


def test_dicom_is_read_in_archives_and_lists_as_in_folders(tmp_path):
    (tmp_path / "CT.DCM").write_bytes(CT)
    (tmp_path / "list.txt").write_text("CT.DCM\n")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("CT.DCM", CT)
    pictures = [open_pool(tmp_path / name).picture(0) for name in ("", "list.txt", "a.zip")]
    assert all(np.array_equal(picture, pictures[0]) for picture in pictures)
