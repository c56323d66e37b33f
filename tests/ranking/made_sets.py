"""Features and images drawn at random, and folders of them."""

import numpy as np
from PIL import Image


def features(rng, n, shift=0.0, width=16):
    return np.maximum(rng.normal(shift, 1.0, size=(n, width)), 0).astype(np.float32)


def folder_of(directory, pictures, suffix="png"):
    directory.mkdir(parents=True)
    for i, picture in enumerate(pictures):
        Image.fromarray(picture).save(directory / f"{i:04}.{suffix}")
    return directory


def noise(rng, n, low=0, high=256, side=16):
    return rng.integers(low, high, (n, side, side, 3), dtype=np.uint8)
