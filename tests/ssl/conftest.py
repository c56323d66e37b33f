"""Small sets of images that a tiny network can tell apart within a few updates."""

import os

import numpy as np
import pytest
from PIL import Image

os.environ.setdefault("OMP_NUM_THREADS", "1")

SHAPES = ("lying", "standing", "chequered")


def stripes(n_images, seed, size=8):
    """Lying stripes, standing stripes and chequers (classes 0, 1, 2), with noise over all."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_images) % 3
    row, column = np.indices((size, size))
    patterns = np.stack([row % 2, column % 2, (row + column) % 2])
    images = rng.integers(0, 120, (n_images, size, size)) + 130 * patterns[labels]
    return images.astype(np.uint8)[..., None], labels


@pytest.fixture
def make_stripes():
    """Makes images and labels; see `stripes`."""
    return stripes


@pytest.fixture
def data():
    """Arguments of `train`: labelled, labels, unlabelled, test, test labels."""
    labelled, labels = stripes(12, seed=1)
    test, test_labels = stripes(30, seed=3)
    return labelled, labels, stripes(40, seed=2)[0], test, test_labels


@pytest.fixture
def quick():
    """Options of `train` that make a run of a fraction of a second."""
    return {
        "model": "wrn-tiny",
        "epochs": 2,
        "updates": 8,
        "batch_size": 6,
        "augment": "none",
        "learning_rate": 1e-2,
    }


@pytest.fixture
def write_images(make_stripes):
    """Writes PNG files of stripes, in class folders or not."""

    def write(folder, n_images, seed, size=8, named=True):
        images, labels = make_stripes(n_images, seed, size)
        for index, (image, label) in enumerate(zip(images, labels, strict=True)):
            place = folder / SHAPES[label] if named else folder
            place.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image[..., 0]).save(place / f"{seed}-{index}.png")
        return folder

    return write


@pytest.fixture
def labelled(tmp_path, write_images):
    return write_images(tmp_path / "labelled", 24, 1)


@pytest.fixture
def pool(tmp_path, write_images):
    return write_images(tmp_path / "pool", 30, 2, named=False)


@pytest.fixture
def told():
    from mixmood.core.listener import Recorder

    return Recorder()


KINDS = ("blue", "red", "striped")


def photo(kind, rng, size=40):
    """One image of a kind, with noise."""
    pixels = rng.integers(0, 60, (size, size, 3))
    if kind == "striped":
        pixels[:, (np.arange(size) // 5) % 2 == 0] += 180
    else:
        pixels[..., {"red": 0, "blue": 2}[kind]] += 180
    return Image.fromarray(pixels.astype(np.uint8))


def write_photos(root, kinds, n_each, seed, in_classes=True):
    rng = np.random.default_rng(seed)
    for number in range(n_each):
        for kind in kinds:
            folder = root / kind if in_classes else root
            folder.mkdir(parents=True, exist_ok=True)
            photo(kind, rng).save(folder / f"{kind}-p{number % 4}-{seed}-{number}.png")
    return root


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    """Folders `labelled`, `pool` and `test`; not to be changed."""
    root = tmp_path_factory.mktemp("photos")
    write_photos(root / "labelled", KINDS, 8, 0)
    write_photos(root / "pool", KINDS, 10, 1, in_classes=False)
    write_photos(root / "test", KINDS, 4, 2)
    return root


@pytest.fixture
def make_photos():
    return write_photos
