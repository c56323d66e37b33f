"""IDX, the format of MNIST."""

import gzip
import struct

import numpy as np
import pytest

from mixmood.core.errors import InputError, ShapeError
from mixmood.data.readers import array as idx_module
from mixmood.data.readers.array import open_idx

IMAGES = np.random.default_rng(0).integers(0, 256, (6, 5, 4), dtype=np.uint8)
LABELS = np.array([7, 2, 7, 2, 2, 9], dtype=np.uint8)


def idx(array, shape=None, kind=8):
    shape = array.shape if shape is None else shape
    head = bytes([0, 0, kind, len(shape)]) + struct.pack(f">{len(shape)}I", *shape)
    return head + array.tobytes()


def written(path, content):
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("end", ["", ".gz"])
def test_images_are_read(end, tmp_path):
    pool = open_idx(written(tmp_path / f"train-images-idx3-ubyte{end}", idx(IMAGES)), "mnist")
    for picture, image in zip(pool.read(range(6)), IMAGES, strict=True):
        np.testing.assert_array_equal(picture, image[:, :, None].repeat(3, axis=2))
    assert pool.labels is None
    assert pool.locate(3) == "mnist[3]"


@pytest.mark.parametrize("end", ["", ".gz"])
@pytest.mark.parametrize("labels_end", ["", ".gz"])
@pytest.mark.parametrize("joint", ["-", "."])
def test_labels_are_found_beside_the_images(end, labels_end, joint, tmp_path):
    path = written(tmp_path / f"train-images{joint}idx3-ubyte{end}", idx(IMAGES))
    written(tmp_path / f"train-labels{joint}idx1-ubyte{labels_end}", idx(LABELS))
    assert open_idx(path, "mnist").labels.counts() == {"2": 3, "7": 2, "9": 1}


def test_a_plain_file_stays_on_disk(tmp_path):
    path = tmp_path / "big-images-idx3-ubyte"
    path.write_bytes(idx(np.zeros(0, dtype=np.uint8), shape=(2**31, 28, 28)))
    with path.open("ab") as file:
        file.truncate(16 + 2**31 * 28 * 28)
    assert len(open_idx(path, "big")) == 2**31


@pytest.mark.parametrize("end", ["", ".gz"])
@pytest.mark.parametrize("shape", [(2**32 - 1, 2**16, 2**16), (7, 5, 4)])
def test_a_header_that_promises_more_than_there_is_is_refused(end, shape, tmp_path):
    path = written(tmp_path / f"a-images-idx3-ubyte{end}", idx(IMAGES, shape=shape))
    with pytest.raises(
        InputError, match=r"the header states uint8 of shape .* truncated, forged or too large"
    ):
        open_idx(path, "a")


def test_a_gzipped_file_larger_than_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(idx_module, "MAX_UNPACKED_IDX", 119)
    path = written(tmp_path / "a-images-idx3-ubyte.gz", idx(IMAGES))
    with pytest.raises(InputError, match=r"120 bytes, but at most 119 are possible"):
        open_idx(path, "a")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "does not start like an IDX file"),
        (b"hello world", "does not start like an IDX file"),
        (b"\0\0\x08\x03\0\0", "its header is truncated"),
        (idx(IMAGES.astype(">f4"), kind=0x0D), r"of type 0x0d; only bytes \(0x08\) can be"),
    ],
)
@pytest.mark.parametrize("end", ["", ".gz"])
def test_a_file_that_is_no_idx_is_refused(content, message, end, tmp_path):
    path = written(tmp_path / f"a-images-idx3-ubyte{end}", content)
    with pytest.raises(InputError, match=f"Cannot open .* as an IDX file: .*{message}"):
        open_idx(path, "a")


@pytest.mark.parametrize("damage", [slice(0, 40), slice(0, -9), None])
def test_a_damaged_gzip_is_refused(damage, tmp_path):
    path = written(tmp_path / "a-images-idx3-ubyte.gz", idx(IMAGES))
    data = path.read_bytes()
    path.write_bytes(data[damage] if damage else data[:-6] + b"xx" + data[-4:])
    with pytest.raises(InputError, match=r"Cannot open .* as an IDX file: "):
        open_idx(path, "a")


def test_a_labels_file_as_pool_is_refused_with_the_way_out(tmp_path):
    path = written(tmp_path / "a-labels-idx1-ubyte", idx(LABELS))
    with pytest.raises(ShapeError, match=r"its header says \(6,\)\. Give the file of the images"):
        open_idx(path, "a")


def test_labels_of_a_wrong_shape_are_refused(tmp_path):
    path = written(tmp_path / "a-images-idx3-ubyte", idx(IMAGES))
    written(tmp_path / "a-labels-idx1-ubyte", idx(IMAGES))
    with pytest.raises(
        ShapeError, match=r"must hold labels, one per image; its shape is \(6, 5, 4"
    ):
        open_idx(path, "a")
    written(tmp_path / "a-labels-idx1-ubyte", idx(LABELS[:5]))
    with pytest.raises(ShapeError, match=r"got 5 labels for 6 images"):
        open_idx(path, "a")
