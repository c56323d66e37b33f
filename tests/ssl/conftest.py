"""Small sets of images that a tiny network can tell apart within a few updates."""

import os

import numpy as np
import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")


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
