"""The list of a filter."""

import sys

import pytest

import mixmood
from mixmood.core.errors import MissingExtraError


def test_without_pyarrow_a_parquet_list_is_refused_before_any_work(tmp_path, rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"Writing Parquet needs .*mixmood\[hub\]"):
        mixmood.filter(rng.normal(size=(20, 4)), "noise:gaussian", out=tmp_path / "kept.parquet")
    assert not list(tmp_path.iterdir())
