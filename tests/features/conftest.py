"""A pool in memory, backbones that see means, and a cache."""

import io

import numpy as np
import pytest
from PIL import Image

from mixmood.core.cache import FeatureCache
from mixmood.core.errors import UnreadableImageError
from mixmood.data.images.pool import ImageSource
from mixmood.features.backbones.backbone import OneView


def encoded(picture, format="PNG"):
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, format=format)
    return buffer.getvalue()


class Pool(ImageSource):
    """Images in memory, as files or arrays; None is one that vanished."""

    name = "pool"
    fingerprint = "0"

    def __init__(self, images):
        self.images = images
        self.n_fetched = 0

    def __len__(self):
        return len(self.images)

    def fetch(self, index):
        self.n_fetched += 1
        if self.images[index] is None:
            raise UnreadableImageError(f"{self.locate(index)}: gone.")
        return self.images[index]

    def locate(self, index):
        return f"image {index}"


class Means(OneView):
    """A backbone that sees the mean of each channel, and counts what it sees."""

    name = "means"
    width = 3
    resolution = 64
    batch_size = 4
    is_batch_dependent = False

    def __init__(self, fingerprint="means"):
        self.fingerprint = fingerprint
        self.batches = []

    def describe(self):
        return {"name": self.name}

    def embed(self, batch):
        self.batches.append(len(batch))
        return batch.mean(axis=(1, 2), dtype=np.float64).astype(np.float32)


class BatchMeans(Means):
    """A backbone whose features are relative to the batch."""

    is_batch_dependent = True

    def embed(self, batch):
        means = super().embed(batch)
        return means - means.mean(axis=0)


@pytest.fixture
def pictures(rng):
    return [rng.integers(0, 256, size=(8, 8 + i % 3, 3), dtype=np.uint8) for i in range(50)]


@pytest.fixture
def pool(pictures):
    return Pool([encoded(picture) for picture in pictures])


@pytest.fixture
def cache(tmp_path):
    with FeatureCache(tmp_path / "cache") as opened:
        yield opened


@pytest.fixture(name="Pool")
def pool_class():
    """The class, for tests that make their own pools."""
    return Pool


@pytest.fixture(name="Means")
def means_class():
    """The class, for tests that make backbones or derive their own."""
    return Means


@pytest.fixture(name="BatchMeans")
def batch_means_class():
    """The class, for tests that make backbones."""
    return BatchMeans


@pytest.fixture(name="encoded")
def encoder():
    """Makes files of pictures; see `encoded`."""
    return encoded
