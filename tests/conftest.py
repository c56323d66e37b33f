"""What all tests share: no cache of the user's is touched, and real images where they are."""

import os
import signal
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent.parent

# A shell starts what it sends to the background with Ctrl-C ignored, and children inherit that:
# the tests that interrupt a child would then wait for nothing.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is slow at anything: no test looks at the clock.
settings.register_profile("mixmood", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mixmood")


@pytest.fixture(scope="session")
def caches(tmp_path_factory):
    """Paths of caches that nobody used before."""
    folder = tmp_path_factory.mktemp("caches")
    return (folder / str(number) for number in count())


@pytest.fixture(autouse=True)
def own_cache(caches, monkeypatch):
    """Every test has a cache of its own, or it would find what another one left."""
    monkeypatch.setenv("MIXMOOD_CACHE", str(next(caches)))


@pytest.fixture(scope="session")
def image_packs():
    """The directory of real image packs; see the README there for what they hold."""
    directory = Path(os.environ.get("MIXMOOD_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not (directory / "cifar10.npz").exists():
        pytest.skip(f"no image packs in {directory}; set MIXMOOD_TEST_DATA to where they are")
    return directory


@pytest.fixture(scope="session")
def paper_tables():
    """The directory of the paper's tables as CSV."""
    directory = ROOT.parent / "shared" / "paper"
    if not (directory / "table1_accuracy.csv").exists():
        pytest.skip(f"the paper's tables are not in {directory}")
    return directory


@pytest.fixture
def rng():
    return np.random.default_rng(0)
