"""Every benchmark can still be found; `python -m benchmarks --tiny` shows that they run."""

import importlib

import pytest
from benchmarks.cases import CASES


@pytest.mark.parametrize("name", CASES)
def test_the_function_of_a_case_is_there(name):
    module, _, function = CASES[name][0].partition(":")
    assert callable(getattr(importlib.import_module(f"benchmarks.{module}"), function))
