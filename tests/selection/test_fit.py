"""What a filter cannot be fitted on."""

import numpy as np
import pytest

from mixmood.core.errors import InputError
from mixmood.core.listener import Silent
from mixmood.data.open import open_pool
from mixmood.features.backbones.registry import efficientnet_lite0
from mixmood.features.extract import Extractor
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
