"""Features of a labelled set and of three pools."""

import pytest
from tests.ranking.made_sets import features


@pytest.fixture
def sets(rng):
    """Sixty labelled rows, and pools that are near, mid and far."""
    pools = {
        "far": features(rng, 200, 2.0),
        "near": features(rng, 200),
        "mid": features(rng, 99, 1),
    }
    return features(rng, 60), pools
