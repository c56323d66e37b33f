"""Arrays of images and of features, in memory and in NumPy's files."""

import io
import os
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fixtures.mutations import EDITS, assert_images_or_known_errors

from mixmood.core.errors import InputError, ShapeError, UnreadableImageError
from mixmood.data.images.labels import labels_from_values
from mixmood.data.readers import array as arrays_module
from mixmood.data.readers import array as npy_module
from mixmood.data.readers.array import FeatureArray, ImageArray, array_pool, open_npy, open_npz

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (7, 5, 4, 3), dtype=np.uint8)
FEATURES = RNG.normal(size=(9, 6)).astype(np.float32)


def saved(path, **arrays):
    np.savez(path, **arrays)
    return path


def packed(path, **arrays):
    np.savez_compressed(path, **arrays)
    return path


def check_images(pool, expected):
    assert isinstance(pool, ImageArray)
    assert len(pool) == len(expected)
    for picture, image in zip(pool.read(range(len(pool))), expected, strict=True):
        np.testing.assert_array_equal(picture, np.broadcast_to(image, picture.shape))


@pytest.mark.parametrize(
    "images",
    [IMAGES, IMAGES[..., :1], IMAGES[..., 0], IMAGES[..., 0].astype(np.uint16) * 257],
    ids=["rgb", "one channel", "grey", "uint16"],
)
def test_arrays_of_images_are_read_in_memory_and_from_every_file(images, tmp_path):
    np.save(tmp_path / "a.npy", images)
    expected = IMAGES if images.shape[-1] == 3 else IMAGES[..., :1]
    check_images(array_pool(images, "a"), expected)
    check_images(open_npy(tmp_path / "a.npy", "a"), expected)
    check_images(open_npz(saved(tmp_path / "b.npz", images=images), "a"), expected)
    check_images(open_npz(packed(tmp_path / "c.npz", images=images), "a"), expected)


def test_bool_and_float_images_are_scaled():
    check_images(array_pool(np.ones((2, 3, 5), dtype=bool), "a"), np.full((2, 1, 1, 1), 255))
    check_images(array_pool(np.full((2, 3, 5), 0.5), "a"), np.full((2, 1, 1, 1), 128))


def test_float_arrays_of_two_axes_are_features(tmp_path):
    np.save(tmp_path / "f.npy", FEATURES)
    wanted = np.array([8, 0, 3, 3])
    for pool in (
        array_pool(FEATURES, "f"),
        open_npy(tmp_path / "f.npy", "f"),
        open_npz(saved(tmp_path / "a.npz", features=FEATURES), "f"),
        open_npz(packed(tmp_path / "b.npz", features=FEATURES), "f"),
    ):
        assert isinstance(pool, FeatureArray)
        assert (len(pool), pool.width) == (9, 6)
        np.testing.assert_array_equal(pool.features(wanted), FEATURES[wanted])
        assert pool.features(wanted).dtype == np.float32


def test_features_of_the_other_byte_order_come_in_the_machines_own():
    pool = array_pool(FEATURES.astype(">f8"), "f")
    assert pool.features(np.arange(2)).dtype == np.dtype("=f8")
    np.testing.assert_array_equal(pool.features(np.arange(9)), FEATURES)


def test_labels_and_class_names_come_from_the_npz(tmp_path):
    labels, names = np.array([0, 1, 1, 0, 2, 2, 2]), np.array(["cat", "dog", "owl"])
    path = packed(tmp_path / "a.npz", images=IMAGES, labels=labels, class_names=names)
    pool = open_npz(path, "a")
    assert pool.labels.counts() == {"cat": 2, "dog": 2, "owl": 3}
    np.testing.assert_array_equal(pool.labels.codes, labels)


def test_labels_without_class_names_are_named_by_their_values(tmp_path):
    pool = open_npz(packed(tmp_path / "a.npz", x=FEATURES, labels=np.arange(9) % 2 + 5), "a")
    assert pool.labels.counts() == {"5": 5, "6": 4}
    words = labels_from_values(np.array(["b", "a", "b"]), "x")
    assert words.counts() == {"a": 1, "b": 2}
    objects = labels_from_values(np.array(["b", "a", "b"], object), "x")
    assert objects.counts() == {"a": 1, "b": 2}


@pytest.mark.parametrize("key", ["images", "x", "anything"])
def test_an_npz_gives_the_array_of_a_known_name_or_its_only_one(key, tmp_path):
    check_images(open_npz(saved(tmp_path / "a.npz", **{key: IMAGES}), "a"), IMAGES)


def test_an_npz_of_several_unknown_arrays_is_refused(tmp_path):
    path = saved(tmp_path / "a.npz", train=IMAGES, test=IMAGES)
    with pytest.raises(
        InputError, match=r"one array, or one called images, features or x; it holds: t"
    ):
        open_npz(path, "a")


def test_the_fingerprint_follows_content_and_not_name_or_file(tmp_path):
    np.save(tmp_path / "a.npy", IMAGES)
    first = array_pool(IMAGES, "a").fingerprint
    assert open_npy(tmp_path / "a.npy", "b").fingerprint == first
    assert open_npz(packed(tmp_path / "c.npz", images=IMAGES), "c").fingerprint == first
    changed = IMAGES.copy()
    changed[3, 0, 0, 0] ^= 1
    assert array_pool(changed, "a").fingerprint != first
    assert array_pool(IMAGES[:6], "a").fingerprint != first
    assert array_pool(FEATURES, "a").fingerprint != array_pool(FEATURES * 2, "a").fingerprint


def shrunk(path, array):
    """The pool of a file that loses its end after it was opened.

    A memory map would end the process with a bus error.
    """
    np.save(path, array)
    pool = open_npy(path, path.stem)
    os.truncate(path, 200)
    return pool


def test_a_file_that_shrinks_gives_unreadable_images_and_not_a_crash(tmp_path):
    pool = shrunk(tmp_path / "a.npy", IMAGES)
    with pytest.raises(UnreadableImageError, match=r"a\.npy\[6\]: 60 bytes expected, but the file"):
        pool.fetch(6)


def test_features_of_a_file_that_shrinks_are_an_error(tmp_path):
    pool = shrunk(tmp_path / "f.npy", FEATURES)
    with pytest.raises(InputError, match=r"The features of f cannot be read: f\.npy\[8\]"):
        pool.features(np.array([8]))


def test_values_of_a_huge_array_are_checked_as_they_are_read(monkeypatch):
    monkeypatch.setattr(arrays_module, "_LARGEST_CHECKED", 10)
    features = FEATURES.copy()
    features[4, 2] = np.nan
    pool = FeatureArray(features, "f")
    pool.features(np.array([0, 8]))
    with pytest.raises(InputError, match="f: features must be finite, but row 4 holds NaN"):
        pool.features(np.array([0, 4, 8]))
    images = ImageArray(np.full((2, 3, 5), 7.0), "a")
    with pytest.raises(UnreadableImageError, match="a\\[1\\]: cannot be decoded: float pixels"):
        list(map(_raise, images.read([1])))


def _raise(error):
    raise error


class Evil:
    """Unpickling it would leave a mark."""

    def __reduce__(self):
        return os.putenv, ("MIXMOOD_EVIL", "1")


def test_pickles_are_never_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr(pickle, "load", lambda *_, **__: pytest.fail("a pickle was loaded"))
    evil = np.array([Evil()], dtype=object)
    np.save(tmp_path / "a.npy", evil)
    with pytest.raises(InputError, match=r"a: an array of Python objects is not accepted"):
        open_npy(tmp_path / "a.npy", "a")
    for write in (saved, packed):
        with pytest.raises(InputError, match=r"'images.npy' is an array of Python objects"):
            open_npz(write(tmp_path / "a.npz", images=evil), "a")
        path = write(tmp_path / "b.npz", images=IMAGES, labels=evil)
        with pytest.raises(InputError, match=r"'labels.npy' is an array of Python objects"):
            open_npz(path, "b")


def test_a_compressed_array_larger_than_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(npy_module, "MAX_UNPACKED_NPZ", 419)
    with pytest.raises(InputError, match=r"would unpack to 420 bytes, more than the 419 allowed"):
        open_npz(packed(tmp_path / "a.npz", images=IMAGES), "a")


def test_fortran_order_is_refused_with_the_way_out(tmp_path):
    np.save(tmp_path / "a.npy", np.asfortranarray(IMAGES))
    with pytest.raises(InputError, match=r"Fortran order; save it again with np.save"):
        open_npy(tmp_path / "a.npy", "a")


def test_a_damaged_npz_is_refused(tmp_path):
    path = packed(tmp_path / "a.npz", images=IMAGES)
    data = bytearray(path.read_bytes())
    data[300] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"Cannot open .*a\.npz as a NumPy file: "):
        open_npz(path, "a")


@pytest.mark.parametrize(
    ("labels", "names", "message"),
    [
        (np.arange(6), None, r"one label per image is needed, got 6 labels for 7 images"),
        (np.zeros((7, 2), dtype=int), None, r"1-D array of integers or texts, got int64 of shape"),
        (np.zeros(7), None, r"got float64 of shape \(7,\)"),
        (np.arange(7), np.array(["a", "b"]), r"from 0 to 1, .* 2 class names; got 0 to 6"),
        (np.arange(7) - 1, np.array(list("abcdefg")), r"integers from 0 to 6, .* got -1 to 5"),
        (np.array(list("abcdefg")), np.array(["a"]), r"integers from 0 to 0, .* got texts"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels, names, message, tmp_path):
    extra = {} if names is None else {"class_names": names}
    with pytest.raises(InputError, match=message):
        open_npz(saved(tmp_path / "a.npz", images=IMAGES, labels=labels, **extra), "a")


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    write=st.sampled_from([saved, packed, None]),
    edits=EDITS,
)
def test_a_mutated_file_gives_a_pool_or_the_known_errors(write, edits, tmp_path):
    path = tmp_path / "a.npz"
    if write:
        write(path, images=IMAGES, labels=np.arange(7))
    else:
        path = tmp_path / "a.npy"
        np.save(path, IMAGES)
    assert_images_or_known_errors(path, edits, open_npz if write else open_npy, "a")


def test_two_classes_of_one_name_are_refused(tmp_path):
    """They would be counted as one."""
    path = saved(
        tmp_path / "a.npz",
        images=IMAGES,
        labels=np.zeros(len(IMAGES), int),
        class_names=np.array(["cat", "cat"]),
    )
    with pytest.raises(InputError, match="a: two classes have the same name. Give every class"):
        open_npz(path, "a")


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
        (b"\x93NUMPY\x01\x00\x10\x00" + b"(" * 16, "EOF"),
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
