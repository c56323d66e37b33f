"""Pools of images and of features that are half foreign."""

import os

import numpy as np
import pytest
from PIL import Image


def stripes(rng, *, is_upright):
    """A picture of dark and light stripes with noise."""
    wave = np.sin(np.arange(32) * rng.uniform(0.3, 1.2) + rng.uniform(0, 6))
    plane = np.tile(wave, (32, 1)) if is_upright else np.tile(wave[:, None], (1, 32))
    noisy = 128 + rng.uniform(-90, 90, 3) * plane[..., None] + rng.normal(0, 12, (32, 32, 3))
    return np.clip(noisy, 0, 255).astype(np.uint8)


def blocks(rng):
    """A foreign picture: sixteen blocks of any colour."""
    small = rng.integers(0, 255, (4, 4, 3), dtype=np.uint8)
    return np.repeat(np.repeat(small, 8, axis=0), 8, axis=1)


def save(path, picture):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture).save(path)


@pytest.fixture(scope="session")
def images(tmp_path_factory):
    """12 labelled images of two classes; a pool of 14 like them, 12 foreign ones and oddities."""
    root, rng = tmp_path_factory.mktemp("images"), np.random.default_rng(0)
    for i in range(12):
        own = root / "labelled" / ("upright" if i % 2 else "flat") / f"{i}.png"
        save(own, stripes(rng, is_upright=bool(i % 2)))
    for i in range(14):
        save(root / "crawl" / f"useful{i:02d}.png", stripes(rng, is_upright=bool(i % 2)))
    for i in range(12):
        save(root / "crawl" / f"foreign{i:02d}.png", blocks(rng))
    save(root / "crawl" / "copy.png", np.array(Image.open(root / "labelled" / "flat" / "2.png")))
    save(root / "crawl" / "twice.png", np.array(Image.open(root / "crawl" / "useful03.png")))
    (root / "crawl" / "broken.png").write_bytes(b"no image at all")
    os.link(root / "crawl" / "useful00.png", root / "crawl" / '=a,"b\nc.png')
    return root


@pytest.fixture(scope="session")
def features(tmp_path_factory):
    """Rows of features: 40 labelled, a pool half useful, one all useful, one all foreign."""
    root, rng = tmp_path_factory.mktemp("features"), np.random.default_rng(0)
    offset, means = rng.normal(size=16) * 3, rng.normal(size=(3, 16))

    def useful(n):
        return offset + means[np.arange(n) % 3] + 0.4 * rng.normal(size=(n, 16))

    foreign = offset + 2.0 * rng.normal(size=16) + 0.4 * rng.normal(size=(200, 16))
    np.save(root / "labelled.npy", useful(40))
    np.save(root / "half.npy", np.concatenate([useful(100), foreign[:100]]))
    np.save(root / "useful.npy", useful(200))
    np.save(root / "foreign.npy", foreign)
    np.save(root / "wide.npy", rng.normal(size=(20, 7)))
    np.save(root / "few.npy", useful(5))
    (root / "empty").mkdir()
    return root


@pytest.fixture
def in_images(images, monkeypatch):
    """The working folder is that of the images; what a command writes goes elsewhere."""
    monkeypatch.chdir(images)
    return images


@pytest.fixture
def in_features(features, monkeypatch):
    monkeypatch.chdir(features)
    return features
