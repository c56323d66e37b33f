"""Features of a labelled set and of three pools."""

import numpy as np
import pytest


@pytest.fixture
def sets(rng):
    """Sixty labelled rows, and pools that are near, mid and far."""

    def features(rng, n, shift=0.0):
        return np.maximum(rng.normal(shift, 1.0, size=(n, 16)), 0).astype(np.float32)

    pools = {
        "far": features(rng, 200, 2.0),
        "near": features(rng, 200),
        "mid": features(rng, 99, 1),
    }
    return features(rng, 60), pools
