"""Photos that a backbone tells apart at a glance: colours and stripes, as files."""

import numpy as np
import pytest
from PIL import Image

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
