"""Small real images that come with scikit-learn: enough for a demonstration without a network.

The files are read without importing scikit-learn, whose import takes a third of `mixmood demo`.
"""

from importlib.metadata import distribution
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

PHOTOS = ("china", "flower")


def digits() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Scikit-learn's handwritten digits: images (1797, 8, 8) with 0..255, and their classes 0..9.

    The stored values are 0..16; 16 becomes 255.
    """
    rows = np.loadtxt(_file("data/digits.csv.gz"), np.int64, delimiter=",")
    images = np.rint(rows[:, :-1].reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8)
    return images, rows[:, -1]


def photo_patches(count: int, size: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Square patches of scikit-learn's two photos, china and flower: (count, size, size, 3).

    Every patch is from either photo with equal chance, from anywhere inside it; they may overlap.
    """
    photos = [np.asarray(Image.open(_file(f"images/{name}.jpg"))) for name in PHOTOS]
    patches = np.empty((count, size, size, 3), dtype=np.uint8)
    for patch in patches:
        photo = photos[rng.integers(len(photos))]
        top = rng.integers(photo.shape[0] - size + 1)
        left = rng.integers(photo.shape[1] - size + 1)
        patch[:] = photo[top : top + size, left : left + size]
    return patches


def _file(place: str) -> Path:
    return Path(str(distribution("scikit-learn").locate_file(f"sklearn/datasets/{place}")))
