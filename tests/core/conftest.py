"""Rows of features for the cache to keep."""

import numpy as np
import pytest

WIDTH = 1280


def keyed_rows(numbers):
    """Rows that tell their number, under keys that tell it too."""
    return {b"key %06d" % i: np.full(WIDTH, i, np.float32) for i in numbers}


@pytest.fixture
def keyed():
    """Makes rows and their keys; see `keyed_rows`."""
    return keyed_rows


@pytest.fixture
def width():
    """How many numbers a row has."""
    return WIDTH
