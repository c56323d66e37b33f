import pytest
from tests.fixtures.world import World


@pytest.fixture
def worlds():
    """Ten worlds: one draw of 40 labelled images says little."""
    return [World(seed) for seed in range(10)]
