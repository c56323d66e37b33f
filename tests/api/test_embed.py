"""Features of images in Python."""

import pytest

import mixmood
from mixmood.core.errors import InputError


def test_a_pool_without_a_readable_image_has_no_features(tmp_path):
    for name in ("a.png", "b.jpg"):
        (tmp_path / name).write_bytes(b"no image at all")
    with pytest.raises(InputError, match="has no readable image among 2. Check the files"):
        mixmood.embed(tmp_path, cache=None, resolution=64)
