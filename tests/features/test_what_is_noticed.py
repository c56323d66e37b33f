"""What an extraction notices of its images: constant ones, copies, a range that is wrong."""

import numpy as np
import pytest
from tests.fixtures.counted_pool import Means, extract, n_embedded

from mixmood.data.images.pixel_range import PixelRange
from mixmood.data.open import open_pool


@pytest.fixture
def scans(tmp_path):
    """Six images: two equal ones, two constant ones, two that differ, all of 12 bits."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 4096, (6, 12, 12), dtype=np.uint16)
    images[1] = images[0]
    images[2], images[3] = 900, 3000
    np.save(tmp_path / "scans.npy", images)
    return open_pool(tmp_path / "scans.npy")


@pytest.mark.parametrize("with_cache", [True, False])
def test_constant_images_and_copies_are_counted(scans, cache, with_cache):
    store = cache if with_cache else None
    pool = scans.scaled_by(PixelRange(0, 4095))
    for _ in range(2):
        found = extract(pool, range(6), Means(), cache=store)
        assert (found.n_constant, len(set(found.contents)), found.n_poor_range) == (2, 5, 0)
        assert found.contents[0] == found.contents[1] != found.contents[4]


def test_a_range_that_does_not_fit_is_counted_also_from_the_cache(tmp_path, cache):
    from PIL import Image

    rng = np.random.default_rng(0)
    for place in range(4):
        pixels = rng.integers(0, 4096, (12, 12), dtype=np.uint16)
        Image.fromarray(pixels).save(tmp_path / f"{place}.png")
    pool = open_pool(tmp_path)
    first, again = (extract(pool, range(4), Means(), cache=cache) for _ in range(2))
    assert (first.n_poor_range, again.n_poor_range) == (4, 4)
    assert n_embedded(pool, range(4), Means(), cache=cache) == 0
    assert np.array_equal(first.features, again.features)


def test_the_range_is_part_of_the_cache_key(scans, cache):
    extract(scans, range(6), Means(), cache=cache)
    scaled = scans.scaled_by(PixelRange(0, 4095))
    assert n_embedded(scaled, range(6), Means(), cache=cache) == 6
