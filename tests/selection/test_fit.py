"""What a filter is fitted on, and what it cannot be fitted on."""

import numpy as np
import pytest

from mixmood.core.errors import InputError
from mixmood.core.listener import Silent
from mixmood.data.open import open_pool
from mixmood.data.readers.array import FeatureArray
from mixmood.features.backbones.registry import efficientnet_lite0
from mixmood.features.extract import Extractor
from mixmood.selection import scorer as scorers
from mixmood.selection.plan import FilterPlan
from mixmood.selection.scorer import fit_scorer


def test_a_pool_of_which_nothing_can_be_read_is_refused(rng, tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.png").write_bytes(b"no image")
    labelled = open_pool(rng.integers(0, 256, (8, 8, 8), dtype=np.uint8))
    reader = Extractor(efficientnet_lite0(64), 1, None, Silent())
    message = f"None of the 3 images tried of {tmp_path.name} could be read. Check the pool"
    with pytest.raises(InputError, match=message):
        fit_scorer(labelled, open_pool(tmp_path), FilterPlan(), reader)


def test_the_name_of_a_large_pool_does_not_change_what_a_filter_is_fitted_on(world, monkeypatch):
    monkeypatch.setattr(scorers, "FIT_SAMPLE", 50)
    own, rows, reader = world.useful(20)[0], world.useful(90)[0], Extractor(None, 1)
    fitted = [
        fit_scorer(FeatureArray(own, "own"), FeatureArray(rows, name), FilterPlan(), reader).filter
        for name in ("crawl", "web")
    ]
    assert len(fitted[0].score.fit.pool) == 50
    assert np.array_equal(*(one.score.fit.pool for one in fitted))
