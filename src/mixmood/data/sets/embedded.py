"""Small real images that come with scikit-learn: enough for a demonstration without a network."""

import numpy as np
from numpy.typing import NDArray


def digits() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Scikit-learn's handwritten digits: images (1797, 8, 8) with 0..255, and their classes 0..9.

    The stored values are 0..16; 16 becomes 255.
    """
    from sklearn.datasets import load_digits

    loaded = load_digits()
    images = np.rint(loaded.images * (255 / 16)).astype(np.uint8)
    return images, loaded.target.astype(np.int64)


def photo_patches(count: int, size: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Square patches of scikit-learn's two photos, china and flower: (count, size, size, 3).

    Every patch is from either photo with equal chance, from anywhere inside it; they may overlap.
    """
    from sklearn.datasets import load_sample_images

    photos = load_sample_images().images
    patches = np.empty((count, size, size, 3), dtype=np.uint8)
    for patch in patches:
        photo = photos[rng.integers(len(photos))]
        top = rng.integers(photo.shape[0] - size + 1)
        left = rng.integers(photo.shape[1] - size + 1)
        patch[:] = photo[top : top + size, left : left + size]
    return patches
