"""Where DICOM files are found: in folders, archives and lists, with and without a suffix."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from mixmood.core.cache.features import FeatureCache
from mixmood.core.errors import InputError
from mixmood.data.open import open_pool

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
    monkeypatch.setattr("mixmood.data.readers.tar.REST_NS", 0)
    with FeatureCache(tmp_path / "cache") as cache:
        first = open_pool(path, cache=cache)
        assert cache.info().n_archives == 1
        monkeypatch.setattr("mixmood.data.readers.tar.read_tar_members", None)
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
