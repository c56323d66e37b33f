"""mixmood: which pool of unlabelled images should I train with?"""

from typing import TYPE_CHECKING, Any

from mixmood.core.version import __version__

if TYPE_CHECKING:
    from mixmood import measures
    from mixmood.api.cache import cache_info, clear_cache
    from mixmood.api.correlate import correlate
    from mixmood.api.data_sets import data_sets, get_data_set
    from mixmood.api.demo import demo
    from mixmood.api.embed import embed
    from mixmood.api.filter import Kept, filter
    from mixmood.api.predict import predict
    from mixmood.api.rank import RankReport, rank
    from mixmood.api.testbed import (
        TestbedTables,
        report_testbed,
        run_testbed,
        testbed_status,
        testbed_tables,
    )
    from mixmood.api.train import TrainedModel, train
    from mixmood.ranking.distance import dissimilarity

__all__ = [
    "Kept",
    "RankReport",
    "TestbedTables",
    "TrainedModel",
    "__version__",
    "cache_info",
    "clear_cache",
    "correlate",
    "data_sets",
    "demo",
    "dissimilarity",
    "embed",
    "filter",
    "get_data_set",
    "measures",
    "predict",
    "rank",
    "report_testbed",
    "run_testbed",
    "testbed_status",
    "testbed_tables",
    "train",
]

_HOMES = {
    "Kept": "api.filter",
    "RankReport": "api.rank",
    "TestbedTables": "api.testbed",
    "TrainedModel": "api.train",
    "cache_info": "api.cache",
    "clear_cache": "api.cache",
    "dissimilarity": "ranking.distance",
    "get_data_set": "api.data_sets",
    "report_testbed": "api.testbed",
    "run_testbed": "api.testbed",
    "testbed_status": "api.testbed",
    "testbed_tables": "api.testbed",
}
"""Modules of public names; `mixmood.NAME` of any other is in `api/NAME.py`."""


def __dir__() -> list[str]:
    """All public names, also those not loaded yet, for completion with Tab."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import public names when they are first used: `mixmood --help` needs none of them."""
    from importlib import import_module
    from importlib.util import find_spec

    if name == "measures":
        return import_module("mixmood.measures")
    home = f"mixmood.{_HOMES.get(name, f'api.{name}')}"
    if name.startswith("_") or find_spec(home) is None:
        raise AttributeError(f"module 'mixmood' has no attribute {name!r}")
    return getattr(import_module(home), name)
