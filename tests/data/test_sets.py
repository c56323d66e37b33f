"""The data sets of the catalogue: their entries, and what is made of their official formats."""

import tarfile

import numpy as np
import pytest

from mixmood.core.errors import InputError
from mixmood.data.download import FORMS, get, unpack
from mixmood.data.sets import CATALOGUE, digits, open_set, photo_patches


@pytest.mark.parametrize("name", ["mnist", "cifar10", "svhn", "tiny_imagenet", "fashion_product"])
def test_a_data_set_is_fetched_and_kept_as_one_pack(
    server, served, left_behind, tmp_path, monkeypatch, name
):
    pack = get(served(server, name), tmp_path)
    assert left_behind(tmp_path) == [f"{name}.npz"]
    monkeypatch.setenv("MIXMOOD_DATA", str(tmp_path))
    pool = open_set(name)
    assert len(pool) == len(np.load(pack)["images"]) > 0
    assert len(pool.labels.codes) == len(pool)


def test_the_pixels_and_labels_are_those_of_the_file(server, served, official, tmp_path):
    for name, images in (
        ("mnist", official.grey),
        ("cifar10", official.colour),
        ("svhn", official.colour),
    ):
        with np.load(get(served(server, name), tmp_path)) as pack:
            np.testing.assert_array_equal(pack["images"], images)
            np.testing.assert_array_equal(pack["labels"], official.labels)


def test_pictures_in_archives_keep_their_classes_and_sizes(server, served, tmp_path):
    with np.load(get(served(server, "tiny_imagenet"), tmp_path)) as pack:
        assert pack["images"].shape == (2, 64, 64, 3)
        assert pack["images"][:, 0, 0, 0].tolist() == [90, 200]
        assert pack["class_names"][pack["labels"]].tolist() == ["n01", "n02"]
    with np.load(get(served(server, "fashion_product"), tmp_path)) as pack:
        assert pack["images"].shape == (2, 80, 60, 3)
        assert pack["images"][:, 40, 30, 0].tolist() == [50, 70]
        assert pack["class_names"][pack["labels"]].tolist() == ["Shoes", "Topwear"]


@pytest.mark.parametrize("form", FORMS)
def test_a_broken_file_is_refused(form, tmp_path):
    path = tmp_path / "broken-images-idx3-ubyte.gz"
    path.write_bytes(b"PK\3\4 nonsense")
    with pytest.raises(InputError, match=r"Cannot (unpack|open)"):
        unpack(form, [path], (32, 32, 3))


def test_archives_without_their_images_are_refused(official, tmp_path):
    cases = [
        (
            "tiny-imagenet",
            official.zipped({"readme.txt": b"x"}),
            "it holds no images where they should be",
        ),
        ("svhn", official.mat(official.colour[:, :8], official.labels), "X has the shape"),
        (
            "svhn",
            official.mat(official.colour, official.labels[:-1]),
            r"\d images of uint8 have \d labels",
        ),
        ("idx", official.idx(official.grey), "the file of its labels is not in the same folder"),
    ]
    for form, content, message in cases:
        path = tmp_path / "alone.gz"
        path.write_bytes(content)
        with pytest.raises(InputError, match=f"Cannot unpack .*{message}.* get the data set again"):
            unpack(form, [path], official.colour.shape[1:])


def test_an_archive_with_a_folder_in_place_of_its_images_is_refused(tmp_path):
    with tarfile.open(tmp_path / "cifar.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("cifar-10-batches-bin/data_batch_1.bin")
        member.type = tarfile.DIRTYPE
        archive.addfile(member)
    with pytest.raises(InputError, match=r"data_batch_1.bin is not a regular file. Delete it"):
        unpack("cifar", [tmp_path / "cifar.tar.gz"], (32, 32, 3))


def test_every_entry_tells_all_that_is_needed():
    for entry in CATALOGUE.values():
        assert entry.form in FORMS
        assert entry.licence
        assert entry.citation
        for file in entry.files:
            assert file.sha256 is None or len(file.sha256) == 64
            assert all(url.startswith("http") for url in file.urls)
    unknown = [e.name for e in CATALOGUE.values() if any(f.sha256 is None for f in e.files)]
    assert unknown == ["fashion_product"]


def test_digits_use_the_whole_range_of_a_byte():
    images, labels = digits()
    assert images.shape == (1797, 8, 8)
    assert images.dtype == np.uint8
    assert (images.min(), images.max()) == (0, 255)
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    # Sixteenths of 255: the first digit's first values are 0, 0, 5, 13.
    assert images[0, 0, :4].tolist() == [0, 0, 80, 207]


def test_digits_are_those_that_scikit_learn_loads():
    from sklearn.datasets import load_digits

    images, labels = digits()
    np.testing.assert_array_equal(images, np.rint(load_digits().images * 255 / 16))
    np.testing.assert_array_equal(labels, load_digits().target)


def test_photo_patches_are_pieces_of_the_photos():
    from sklearn.datasets import load_sample_images

    patches = photo_patches(40, 24, np.random.default_rng(0))
    assert patches.shape == (40, 24, 24, 3)
    assert patches.dtype == np.uint8
    known = np.concatenate([photo.reshape(-1, 3) for photo in load_sample_images().images])
    for corner in patches[:9, 0, 0]:
        assert (known == corner).all(axis=1).any()


def test_photo_patches_follow_the_generator():
    first, again = (photo_patches(5, 32, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert (first != photo_patches(5, 32, np.random.default_rng(4))).any()
