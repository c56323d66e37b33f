"""A folder of the kept images of a pool that has no files: they are written as PNG."""

import numpy as np
import pytest
from PIL import Image

from mixmood.core.errors import OutputError, UnreadableImageError
from mixmood.core.listener import Silent
from mixmood.data.open import open_pool
from mixmood.selection.image_folder import fill_folder


@pytest.fixture
def images(rng):
    return rng.integers(0, 256, (3, 8, 6, 3), dtype=np.uint8)


def fill(pool, indices, folder):
    fill_folder(pool, np.array(indices), folder, Silent(), with_links=True)


def test_images_of_an_array_become_png_files_of_the_same_pixels(images, tmp_path):
    fill(open_pool(images), [0, 2], tmp_path)
    names = ["000000000_array_0_.png", "000000002_array_2_.png"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert np.array_equal(np.asarray(Image.open(tmp_path / names[1])), images[2])


def test_an_image_that_cannot_be_written_is_said_and_leaves_nothing(images, tmp_path):
    (tmp_path / "000000001_array_1_.png").mkdir()
    with pytest.raises(OutputError, match=r"Cannot write .*000000001_array_1_\.png: Is a direct"):
        fill(open_pool(images), [1], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["000000001_array_1_.png"]


def test_an_image_that_is_gone_by_now_is_named(images, tmp_path):
    pool = open_pool(list(images))
    with pytest.raises(UnreadableImageError, match=r"images\[7\]: cannot be read: IndexError"):
        fill(pool, [7], tmp_path / "copies")
