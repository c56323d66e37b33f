"""mixmood: which pool of unlabelled images should I train with?

`__init__.pyi` has the signatures for editors and type checkers: scripts/write_stub.py writes it.
"""

from importlib import import_module
from typing import Any

from mixmood.core.version import __version__

_HOMES = {
    "CheckReport": "api.check",
    "Embedding": "api.embed",
    "Kept": "api.filter",
    "NextImages": "api.next",
    "PredictReport": "api.predict",
    "RankReport": "api.rank",
    "TestbedTables": "api.testbed",
    "TrainedModel": "api.train",
    "cache_info": "core.cache",
    "check": "api.check",
    "clear_cache": "core.cache",
    "correlate": "api.testbed",
    "data_sets": "data.sets",
    "demo": "api.rank",
    "dissimilarity": "ranking.distance",
    "embed": "api.embed",
    "filter": "api.filter",
    "get_data_set": "data.sets",
    "load": "api.load",
    "next": "api.next",
    "predict": "api.predict",
    "rank": "api.rank",
    "report_testbed": "api.testbed",
    "run_testbed": "api.testbed",
    "testbed_status": "api.testbed",
    "testbed_tables": "api.testbed",
    "train": "api.train",
}
"""The module of every public name but `measures`, which is a module itself."""

__all__ = ["__version__", "measures", *_HOMES]


def __dir__() -> list[str]:
    """All public names, also those not loaded yet, for completion with Tab."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import public names when they are first used: `mixmood --help` needs none of them."""
    if name == "measures":
        return import_module("mixmood.measures")
    if name not in _HOMES:
        raise AttributeError(f"module 'mixmood' has no attribute {name!r}")
    return getattr(import_module(f"mixmood.{_HOMES[name]}"), name)
