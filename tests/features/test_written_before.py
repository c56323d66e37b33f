"""A cache file written by version 0.1.0 is still used: keys and rows are the same.

`golden/` holds that file, the two images it knows, and the versions of the libraries that were
installed then: those are part of the keys.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import PIL
import pytest

from mixmood.core.cache.features import FILE_NAME, FeatureCache
from mixmood.data.open import open_pool
from mixmood.features.backbones.registry import load_backbone
from mixmood.features.extraction import prepare
from mixmood.features.extraction.extract import extract

GOLDEN = Path(__file__).parent / "golden"
WRITTEN = json.loads((GOLDEN / "written_by.json").read_text())


@pytest.fixture
def old_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(PIL, "__version__", WRITTEN["pillow"])
    monkeypatch.setattr(prepare, "package_version", WRITTEN.get)
    shutil.copy(GOLDEN / FILE_NAME, tmp_path / FILE_NAME)
    with FeatureCache(tmp_path) as cache:
        yield cache


def test_features_of_files_are_found_in_a_cache_written_before(old_cache):
    pool = open_pool(GOLDEN / "images")
    found = extract(pool, range(len(pool)), load_backbone(), cache=old_cache)
    assert (found.n_cached, found.n_computed) == (2, 0)
    assert found.features[0][:4].tolist() == WRITTEN["first_features"]


def test_features_of_arrays_are_found_in_a_cache_written_before(old_cache):
    pixels = (np.arange(16 * 16 * 3) % 256).astype(np.uint8).reshape(1, 16, 16, 3)
    found = extract(open_pool(pixels), [0], load_backbone(), cache=old_cache)
    assert (found.n_cached, found.n_computed) == (1, 0)
