"""Whatever a user calls a pool is opened, or refused with a reason."""

import gzip
import os
import shutil
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mixmood.core.errors import InputError, OptionError, ShapeError
from mixmood.data.open import noise_size, open_candidates, open_pool
from mixmood.data.readers.archives import TarSource, ZipSource
from mixmood.data.readers.array import FeatureArray, ImageArray
from mixmood.data.readers.files import FolderSource, ManifestSource
from mixmood.data.readers.noise import NoiseSource

IMAGES = np.zeros((4, 5, 6), dtype=np.uint8)
IDX = b"\0\0\x08\x03" + np.array([4, 5, 6], dtype=">u4").tobytes() + IMAGES.tobytes()


def make_zip(path, root):
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(root / "1.png", "1.png")


def make_tar(path, root, mode="w"):
    with tarfile.open(path, mode) as archive:
        archive.add(root / "1.png", "1.png")


MAKERS = {
    "crawl.zip": (make_zip, ZipSource, "crawl"),
    "CRAWL.ZIP": (make_zip, ZipSource, "CRAWL"),
    "crawl.v2.tar": (make_tar, TarSource, "crawl.v2"),
    "crawl.tar.gz": (lambda p, r: make_tar(p, r, "w:gz"), TarSource, "crawl"),
    "crawl.tgz": (lambda p, r: make_tar(p, r, "w:gz"), TarSource, "crawl"),
    "a.npy": (lambda p, r: np.save(p, IMAGES), ImageArray, "a"),
    "a.npz": (lambda p, r: np.savez(p, images=IMAGES), ImageArray, "a"),
    "f.npy": (lambda p, r: np.save(p, np.ones((3, 2))), FeatureArray, "f"),
    "t-images-idx3-ubyte": (lambda p, r: p.write_bytes(IDX), ImageArray, "t-images"),
    "t-images.idx3-ubyte.gz": (
        *(lambda p, r: p.write_bytes(gzip.compress(IDX)), ImageArray, "t-images"),
    ),
    "list.txt": (lambda p, r: p.write_text("pool/1.png"), ManifestSource, "list"),
    "list.csv": (lambda p, r: p.write_text("path\npool/1.png"), ManifestSource, "list"),
    "no-suffix-zip": (make_zip, ZipSource, "no-suffix-zip"),
    "no-suffix-idx": (lambda p, r: p.write_bytes(IDX), ImageArray, "no-suffix-idx"),
}


@pytest.mark.parametrize("file", MAKERS)
@pytest.mark.parametrize("kind", [str, Path])
def test_a_file_is_opened_by_its_name_or_else_by_its_start(file, kind, tmp_path, tree):
    make, expected, name = MAKERS[file]
    make(tmp_path / file, tree({"1.png": 1}))
    pool = open_pool(kind(tmp_path / file))
    assert isinstance(pool, expected)
    assert pool.name == name
    assert open_pool(tmp_path / file, "mine").name == "mine"


def test_a_folder_is_called_by_its_own_name(tree, monkeypatch):
    root = tree({"1.png": 1})
    assert isinstance(open_pool(root), FolderSource)
    assert open_pool(f"{root}/").name == "pool"
    monkeypatch.chdir(root)
    assert open_pool(".").name == "pool"
    monkeypatch.setenv("HOME", str(root.parent))
    assert len(open_pool("~/pool")) == 1


def test_a_noise_text_is_opened_with_the_seed_given():
    pool = open_pool("noise:gaussian?count=5", seed=3)
    assert isinstance(pool, NoiseSource)
    np.testing.assert_array_equal(pool.fetch(0), NoiseSource("gaussian", "", seed=3).fetch(0))


def test_arrays_in_memory_are_pools():
    assert isinstance(open_pool(IMAGES), ImageArray)
    assert isinstance(open_pool(np.ones((3, 2)), "f"), FeatureArray)
    assert (open_pool(IMAGES).name, open_pool(IMAGES, "x").name) == ("array", "x")


@pytest.mark.parametrize("kind", [list, tuple, np.array, "series"])
def test_an_array_and_its_classes_are_a_pool_whatever_holds_the_classes(kind):
    make = pytest.importorskip("pandas").Series if kind == "series" else kind
    features, words = np.zeros((4, 3)), ["b", "a", "b", "b"]
    for pair in ((features, make(words)), [features, make(words)]):
        pool = open_pool(pair)
        assert isinstance(pool, FeatureArray)
        assert pool.labels.counts() == {"a": 1, "b": 3}


def test_two_images_are_not_taken_for_an_array_and_its_classes():
    pixels = np.zeros((8, 8, 3), np.uint8)
    assert len(open_pool([pixels, pixels])) == 2
    assert len(open_pool([pixels, (pixels, 0)])) == 2


@pytest.mark.parametrize(("module", "make"), [("pandas", "DataFrame"), ("torch", "tensor")])
def test_a_table_of_pandas_and_a_tensor_with_two_axes_are_features(module, make):
    values = np.arange(12.0).reshape(4, 3)
    table = getattr(pytest.importorskip(module), make)(values)
    pool = open_pool((table, [0, 1, 0, 1]))
    assert isinstance(pool, FeatureArray)
    np.testing.assert_array_equal(pool.features(np.arange(4)), values)
    assert open_pool(table).width == 3


def test_a_tensor_that_is_no_array_is_refused_with_the_reason():
    torch = pytest.importorskip("torch")
    with pytest.raises(InputError, match="Features cannot be read as an array: Can't call numpy"):
        open_pool(torch.zeros((4, 3), requires_grad=True))


def test_a_pool_is_passed_through_and_a_new_name_does_not_change_the_old_one():
    pool = open_pool(IMAGES, "old")
    assert open_pool(pool) is pool
    assert open_pool(pool, "old") is pool
    renamed = open_pool(pool, "new")
    assert (renamed.name, pool.name, len(renamed)) == ("new", "old", 4)


@pytest.mark.parametrize("what", [None, 3, {"a": 1}, object()])
def test_other_objects_are_refused(what):
    with pytest.raises(InputError, match=r"must be a path, an array, an image, .*; got"):
        open_pool(what)


def test_a_missing_path_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"Cannot open the pool .*gone: No such file .* Check the"):
        open_pool(tmp_path / "gone")


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000])
def test_an_impossible_path_is_refused(path):
    with pytest.raises(InputError, match=r"Cannot open the pool .*: .*\. Check the path"):
        open_pool(path)


@pytest.mark.parametrize("path", ["", " "])
def test_an_empty_path_is_not_the_current_folder(path):
    with pytest.raises(OptionError, match="The labelled set has an empty path. Is a variable"):
        open_pool(path, role="labelled set")


def test_a_missing_path_is_called_by_its_role(tmp_path):
    with pytest.raises(InputError, match=r"Cannot open the labelled set .*gone: No such file"):
        open_pool(tmp_path / "gone", role="labelled set")


@pytest.mark.parametrize("name", ["caf\udce9", "\ud800"])
def test_a_name_that_is_no_text_is_printable(name, tree):
    """As JSON, CSV or HTML it would otherwise end in an error, or in a broken file."""
    pool = open_pool(tree({"1.png": 1}), name)
    assert pool.name.isascii()
    assert pool.name.startswith(name[:-1] + "\\")
    again = open_pool(pool)
    assert again is pool


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_image_of_an_archive_whose_name_is_no_text_can_be_printed(kind, tree, tmp_path):
    packed = shutil.make_archive(str(tmp_path / "caf\udce9"), kind, tree({"1.png": 1}))
    pool = open_pool(packed)
    assert (pool.name, pool.locate(0)) == (r"caf\xe9", rf"caf\xe9.{kind}/1.png")


def test_one_image_is_a_pool(tree, values_of):
    path = tree({"1.png": 7}) / "1.png"
    image = Image.open(path)
    for what in (path, str(path), image, [path], [image]):
        assert values_of(open_pool(what)) == [7]
    assert open_pool(path).name == "1.png"
    assert open_pool(path).locate(0) == str(path)


def test_a_list_of_paths_is_a_pool_in_its_order(tree, values_of, monkeypatch):
    root = tree({"a/1.png": 1, "b/2.png": 2, "b/10.png": 3})
    paths = [root / "b/10.png", root / "a/1.png", root / "b/2.png"]
    pool = open_pool(paths)
    assert values_of(pool) == [3, 1, 2]
    assert pool.labels.names == ("a", "b")
    assert pool.labels.codes.tolist() == [1, 0, 1]
    monkeypatch.chdir(root)
    named = open_pool(["b/10.png", "a/1.png"])
    monkeypatch.chdir("/")
    assert values_of(named) == [3, 1]
    assert named.locate(0) == "b/10.png"


def test_paths_may_come_with_classes_in_pairs_or_as_two_lists_or_as_a_table(tree, values_of):
    pandas = pytest.importorskip("pandas")
    root = tree({"1.png": 1, "2.png": 2, "3.png": 3})
    paths, classes = [str(root / f"{k}.png") for k in (3, 1, 2)], ["x", "y", "x"]
    table = pandas.DataFrame({"File": paths, "class": classes, "patient": [5, 5, 6]})
    for what in (list(zip(paths, classes, strict=True)), (paths, classes), table):
        pool = open_pool(what)
        assert values_of(pool) == [3, 1, 2]
        assert pool.labels.counts() == {"x": 2, "y": 1}
    assert open_pool(table).column("patient") == ["5", "5", "6"]
    assert open_pool(table).column("hospital") is None
    blank = table.assign(**{"class": ["x", None, "y"]})
    assert open_pool(blank).labels is None


def test_a_table_with_a_blank_label_has_no_classes_whatever_the_folders_are(tree):
    """The classes were those of the folders, without a word."""
    pandas = pytest.importorskip("pandas")
    root = tree({"a/1.png": 1, "b/2.png": 2})
    paths = [str(root / "a" / "1.png"), str(root / "b" / "2.png")]
    pool = open_pool(pandas.DataFrame({"path": paths, "label": ["sick", None]}))
    assert pool.labels is None
    assert ", 1 of them missing: every image needs" in pool.why_unlabelled
    with pytest.raises(InputError, match="table: a path is missing, or no text"):
        open_pool(pandas.DataFrame({"path": [paths[0], float("nan")]}))


@pytest.mark.parametrize("kind", ["pictures", "arrays", "tensor", "images of several sizes"])
def test_images_and_their_classes_are_a_pool_whatever_holds_the_images(kind, values_of):
    pixels = np.full((3, 8, 8, 3), np.array([10, 20, 30]).reshape(3, 1, 1, 1), np.uint8)
    images = {
        "pictures": lambda: [Image.fromarray(one) for one in pixels],
        "arrays": lambda: list(pixels),
        "tensor": lambda: pytest.importorskip("torch").tensor(pixels.transpose(0, 3, 1, 2)),
        "images of several sizes": lambda: [one[: 8 - k] for k, one in enumerate(pixels)],
    }[kind]()
    pool = open_pool((images, ["b", "a", "b"]))
    assert values_of(pool) == [10, 20, 30]
    assert pool.labels.counts() == {"a": 1, "b": 2}
    with pytest.raises(ShapeError, match="one label per image is needed, got 2 labels for 3"):
        open_pool((images, ["b", "a"]))


def test_classes_with_two_axes_beside_images_are_refused_as_such():
    """They were taken for a second image: 'needs at least 8 labelled images; got 1'."""
    with pytest.raises(ShapeError, match=r"labels must be a 1-D array .* got float64 of shape"):
        open_pool((np.zeros((4, 8, 8, 3), np.uint8), np.eye(4)))


def test_a_list_of_names_that_are_no_files_is_refused(tree):
    with pytest.raises(InputError, match="none of its first 2 paths is a file, such as 'a.png'"):
        open_pool(["a.png", "b.png"])
    root = tree({"1.png": 1})
    with pytest.raises(InputError, match="one label per image is needed, got 2 labels for 1"):
        open_pool(([str(root / "1.png")], [0, 1]))


def test_a_table_of_features_stays_a_table_of_features():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(np.ones((3, 2)), columns=["width", "height"])
    assert open_pool(table).width == 2


def test_a_file_of_an_unknown_kind_is_refused_with_the_known_ones(tmp_path):
    (tmp_path / "notes.md").write_text("hello")
    with pytest.raises(
        InputError, match=r"notes\.md is not a known kind of pool\. .* ends in \.zip, \.tar"
    ):
        open_pool(tmp_path / "notes.md")


def test_a_path_that_is_too_long_is_refused_also_with_options():
    with pytest.raises(InputError, match=r"Cannot open the pool x+: File name too long"):
        open_pool(f"{'x' * 300}?label=kind")


def test_a_fifo_as_pool_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"pipe: it is neither a file nor a folder"):
        open_pool(tmp_path / "pipe")


def test_a_file_that_cannot_be_read_is_refused(tmp_path, monkeypatch):
    (tmp_path / "thing").write_text("x")

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"Cannot open the pool .*thing: Permission denied"):
        open_pool(tmp_path / "thing")


def test_a_wrong_path_gets_the_one_that_was_probably_meant(tmp_path):
    (tmp_path / "Flowers" / "tulips").mkdir(parents=True)
    with pytest.raises(InputError, match=r"No such file .* Did you mean .*/Flowers/tulips\?"):
        open_pool(tmp_path / "Flowers" / "tulip")
    with pytest.raises(InputError, match=r"Did you mean .*/Flowers\?"):
        open_pool(tmp_path / "flower" / "tulips")
    with pytest.raises(InputError, match=r"No such file or directory\. Check the path\."):
        open_pool(tmp_path / "zebra")


def images(n=9, height=20, width=30):
    return np.zeros((n, height, width), np.uint8)


@pytest.fixture
def labelled():
    return open_pool(images())


def side_of(pool):
    return pool.fetch(0).shape[0]


def test_names_come_from_the_dictionary_or_from_the_word_or_from_the_path(labelled, tmp_path):
    np.save(tmp_path / "scans.npy", images())
    path = str(tmp_path / "scans.npy")
    assert list(open_candidates({"a": path}, labelled, 0).pools) == ["a"]
    assert list(open_candidates([f"web={path}", path], labelled, 0).pools) == ["web", "scans"]
    assert list(open_candidates(path, labelled, 0).pools) == ["scans"]


def test_a_path_or_noise_with_an_equals_sign_is_not_taken_for_a_name(labelled, tmp_path):
    (tmp_path / "x=y").mkdir()
    np.save(tmp_path / "x=y" / "scans.npy", images())
    assert list(open_candidates([f"{tmp_path}/x=y/scans.npy"], labelled, 0).pools) == ["scans"]
    assert list(open_candidates(["noise:gaussian?count=5"], labelled, 0).pools) == ["gaussian"]


def test_a_file_whose_own_name_has_an_equals_sign_is_opened(labelled, tmp_path, monkeypatch):
    np.save(tmp_path / "we=ird.npy", images())
    monkeypatch.chdir(tmp_path)
    assert list(open_candidates(["we=ird.npy"], labelled, 0).pools) == ["we=ird"]
    assert list(open_candidates(["we=we=ird.npy"], labelled, 0).pools) == ["we"]


def test_names_that_are_no_text_are_printable_however_they_are_given(labelled, tmp_path):
    np.save(tmp_path / "caf\udce9.npy", images())
    path = str(tmp_path / "caf\udce9.npy")
    for given, name in ((path, r"caf\xe9"), (f"n\udce9={path}", r"n\xe9")):
        assert list(open_candidates([given], labelled, 0).pools) == [name]
    assert list(open_candidates({"n\udce9": path}, labelled, 0).pools) == [r"n\xe9"]


def test_two_pools_of_one_name_are_refused(labelled):
    with pytest.raises(OptionError, match="Two pools are called 'array'. Name them"):
        open_candidates([images(), images()], labelled, 0)


def test_noise_has_the_size_of_the_labelled_images_unless_told_otherwise(labelled):
    pools = open_candidates(["a=noise:gaussian", "b=noise:gaussian?size=50"], labelled, 0).pools
    assert {name: side_of(pool) for name, pool in pools.items()} == {"a": 20, "b": 50}


def test_noise_beside_features_or_beside_huge_photos_keeps_a_sane_size():
    assert noise_size(open_pool(np.zeros((9, 4)))) is None
    assert noise_size(open_pool(images(2, 900, 700))) == 224
    assert noise_size(open_pool(images(2, 3, 3))) == 8


def test_unreadable_labelled_images_decide_nothing(tmp_path):
    for i in range(9):
        (tmp_path / f"{i}.png").write_bytes(b"nothing")
    assert noise_size(open_pool(tmp_path)) is None


def test_one_array_is_one_pool_and_not_a_list_of_its_rows(labelled):
    opened = open_candidates(images(), labelled, 0)
    assert [len(pool) for pool in opened.pools.values()] == [9]


def test_a_name_that_is_a_number_is_refused(labelled):
    with pytest.raises(OptionError, match="The name of a pool must be a text; got 1"):
        open_candidates({1: images()}, labelled, 0)
