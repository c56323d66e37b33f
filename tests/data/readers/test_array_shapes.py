"""Types, shapes and sizes of arrays are checked: those at hand and those that headers promise."""

import io
import zipfile

import numpy as np
import pytest

from mixmood.core.errors import InputError, ShapeError
from mixmood.data.readers.array import array_pool, open_npy, open_npz


@pytest.mark.parametrize(
    ("array", "kind", "message"),
    [
        (np.zeros((3, 4, 5), dtype=np.int64), InputError, r"a: pixels must be .* got int64"),
        (np.zeros((3, 4, 5), dtype=complex), InputError, r"got complex128"),
        (np.zeros((3, 4, 5), dtype="S3"), InputError, r"got \|S3"),
        (np.zeros((3, 4), dtype=np.uint8), ShapeError, r"\(n, height, width\) or .* \(3, 4\)"),
        (np.zeros(3), ShapeError, r"got shape \(3,\)"),
        (np.array(1.0), ShapeError, r"got shape \(\)"),
        (np.zeros((2, 3, 9, 9), dtype=np.uint8), ShapeError, r"np.moveaxis\(images, 1, 3\)"),
        (np.zeros((2, 9, 9, 5), dtype=np.uint8), ShapeError, r"got shape \(2, 9, 9, 5\)"),
        (np.zeros((20, 30, 3), dtype=np.uint8), ShapeError, r"looks like one picture: give it as"),
        (np.zeros((0, 9, 9), dtype=np.uint8), InputError, r"has no images \(shape \(0, 9, 9\)"),
        (np.zeros((0, 9)), ShapeError, r"features must be .* n and d above 0, got float64"),
        (np.full((2, 9, 9), np.nan), InputError, r"a\[0:2\]: float pixels .* got nan to nan"),
        (np.full((2, 9, 9), 255.0), InputError, r"got 255 to 255; divide by the largest"),
        (np.array([[1.0, 2.0], [np.nan, 1.0]]), InputError, r"must be finite, but row 1 holds NaN"),
        (np.array([[1.0, np.inf]]), InputError, r"must be finite, but row 0"),
        (
            np.array([[1], [{}]], dtype=object),
            InputError,
            r"Python objects is not accepted, .* pickle",
        ),
    ],
)
def test_arrays_that_are_no_pool_are_refused_when_opened(array, kind, message, tmp_path):
    with pytest.raises(kind, match=message):
        array_pool(array, "a")
    if not array.dtype.hasobject:
        np.save(tmp_path / "a.npy", array)
        with pytest.raises(kind, match=message):
            open_npy(tmp_path / "a.npy", "a")


def test_opening_an_npy_reads_its_header_only(tmp_path):
    """A file of a terabyte, nearly all of it a hole, opens at once."""
    path = tmp_path / "big.npy"
    header = {"descr": "|u1", "fortran_order": False, "shape": (10**7, 320, 320)}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 10**7 * 320 * 320)
    pool = open_npy(path, "big")
    assert len(pool) == 10**7
    assert pool.fetch(10**7 - 1).sum() == 0
    assert len(pool.fingerprint) == 64


def npy_bytes(shape, descr="|u1", data=b"", fortran=False):
    buffer = io.BytesIO()
    head = {"descr": descr, "fortran_order": fortran, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, head)
    return buffer.getvalue() + data


@pytest.mark.parametrize("shape", [(10**12, 8, 8), (2**62, 2**62, 2), (3, 4, 5)])
def test_a_header_that_promises_more_than_the_file_holds_is_refused(shape, tmp_path):
    data = npy_bytes(shape, data=b"abc")
    (tmp_path / "a.npy").write_bytes(data)
    with pytest.raises(
        InputError, match=r"states uint8 of shape .* but at most 3 are possible. .* truncated, forg"
    ):
        open_npy(tmp_path / "a.npy", "a")
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("images.npy", data)
    with pytest.raises(InputError, match=r"states uint8 of shape .* but at most 3 are possible"):
        open_npz(tmp_path / "a.npz", "a")


def test_a_size_that_no_compression_reaches_is_refused_before_memory_is_taken(tmp_path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("images.npy", npy_bytes((4096, 1024, 1024), data=bytes(100)))
    data = path.read_bytes()
    entry = data.index(b"PK\1\2")
    claim = (2**32 - 2).to_bytes(4, "little")
    path.write_bytes(data[: entry + 24] + claim + data[entry + 28 :])
    with pytest.raises(InputError, match=r"(states uint8|than its compressed size can hold)"):
        open_npz(path, "a")
    small = npy_bytes((4000, 1024, 1024), data=bytes(100))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("images.npy", small)
    data = path.read_bytes()
    entry = data.index(b"PK\1\2")
    path.write_bytes(data[: entry + 24] + claim + data[entry + 28 :])
    with pytest.raises(InputError, match=r"than its compressed size can hold"):
        open_npz(path, "a")


def test_a_compressed_array_that_ends_before_its_size_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    whole = npy_bytes((3, 4, 4), data=bytes(48))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("images.npy", whole[:-8])
    data = path.read_bytes()
    entry = data.index(b"PK\1\2")
    claim = len(whole).to_bytes(4, "little")
    path.write_bytes(data[: entry + 24] + claim + data[entry + 28 :])
    with pytest.raises(InputError, match="as a NumPy file: "):
        open_npz(path, "a")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x93NUMPY\x03\x00" + bytes(200), r"format version \(3, 0\) is unknown"),
        (npy_bytes((-1, 4, 4)), r"its header claims the shape \(-1, 4, 4\)"),
        (b"\x93NUMPY\x01\x00\x10\x00" + b"(" * 16, "header"),
    ],
)
def test_a_header_that_cannot_be_is_refused_with_the_reason(content, message, tmp_path):
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(InputError, match=f"as a NumPy file: .*{message}"):
        open_npy(tmp_path / "a.npy", "a")


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"hello", b"\x93NUMPY\x01\x00", b"\x93NUMPY\x09\x00" + bytes(200)),
        b"\x93NUMPY\x01\x00\x10\x00" + b"(" * 16,
        npy_bytes((-1, 4, 4)),
    ],
)
def test_a_file_that_is_no_array_is_refused(content, tmp_path):
    (tmp_path / "a.npy").write_bytes(content)
    (tmp_path / "a.npz").write_bytes(content)
    for opener, path in ((open_npy, "a.npy"), (open_npz, "a.npz")):
        with pytest.raises(InputError, match=f"Cannot open .*{path} as a NumPy file: "):
            opener(tmp_path / path, "a")
