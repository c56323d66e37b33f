"""Pictures, a pool of them, and a cache."""

import numpy as np
import pytest
from tests.fixtures.counted_pool import Pool, encoded

from mixmood.core.cache import FeatureCache


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
