"""Real images come out the same from every kind of pool."""

import os
import zipfile
from pathlib import Path, PurePath

import numpy as np
import pytest
from PIL import Image

from mixmood.data.open import open_pool

ROOT = Path(__file__).resolve().parents[2]
PACKS = Path(os.environ.get("MIXMOOD_TEST_DATA", ROOT.parent / "shared" / "data"))
SHAPES = {
    "mnist": (12_000, (28, 28)),
    "cifar10": (12_000, (32, 32, 3)),
    "svhn": (5_000, (32, 32, 3)),
    "fashion_product": (3_600, (80, 60, 3)),
}


def pack(name):
    path = PACKS / f"{name}.npz"
    if not path.is_file():
        pytest.skip(f"{path} is absent; set MIXMOOD_TEST_DATA to the folder of image packs")
    return path


@pytest.mark.parametrize("name", SHAPES)
def test_a_pack_opens_with_its_images_and_labels(name):
    pool = open_pool(pack(name))
    count, shape = SHAPES[name]
    assert (len(pool), pool.name) == (count, name)
    assert sum(pool.labels.counts().values()) == count
    assert pool.fetch(count - 1).shape == shape
    for picture in pool.read([0, count // 2, count - 1]):
        assert picture.shape == (*shape[:2], 3)
        assert picture.std() > 5


def test_files_in_a_zip_with_class_folders_are_the_same_images_as_the_array(tmp_path):
    with np.load(pack("cifar10")) as loaded:
        images, labels, names = (loaded[key] for key in ("images", "labels", "class_names"))
    with zipfile.ZipFile(tmp_path / "cifar.zip", "w") as archive:
        for index in range(50):
            with archive.open(f"{names[labels[index]]}/{index}.png", "w") as file:
                Image.fromarray(images[index]).save(file, "PNG")
    pool = open_pool(tmp_path / "cifar.zip")
    packed = [int(PurePath(pool.locate(place)).stem) for place in range(50)]
    assert sorted(packed) == list(range(50))
    np.testing.assert_array_equal(np.stack(list(pool.read(range(50)))), images[packed])
    assert [pool.labels.names[code] for code in pool.labels.codes] == names[labels[packed]].tolist()
