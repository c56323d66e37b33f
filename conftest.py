"""Fixtures that tests of several layers share, and one thread for each process of the tests."""

import gc
import os
from pathlib import Path

import pytest

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None

# Read by the libraries when they are first imported, and by every process that a test starts.
# Two processes of two threads each would wait for one another on two cores.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
# Tests of several threads: those that wait leave the core to the other process.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

pytest_plugins = [
    "tests.fixtures.backbone",
    "tests.fixtures.browser",
    "tests.fixtures.cluster",
    "tests.fixtures.few_draws",
    "tests.fixtures.loaded_once",
    "tests.fixtures.once",
    "tests.fixtures.scheduling",
    "tests.fixtures.testbed",
    "tests.fixtures.world",
]


def pytest_addoption(parser):
    """One option: write the documentation's pages instead of comparing them."""
    parser.addoption(
        "--write-pages",
        action="store_true",
        help="Write what the examples of the documentation print into its pages.",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Processes collect one after another: what the first compiles, the next ones find compiled.

    In a fresh clone each would rewrite the assertions of all tests. Types are checked meanwhile.
    """
    if fcntl is None or not hasattr(session.config, "workerinput"):
        return (yield)
    with Path(__file__).open() as own_file:
        fcntl.flock(own_file, fcntl.LOCK_EX)
        return (yield)


gc.disable()  # what imports make stays: see below


def pytest_collection_finish():
    """What is imported by now stays: to look through it again and again took 5 % of all time."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
