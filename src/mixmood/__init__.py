"""mixmood: which pool of unlabelled images should I train with?"""

from typing import TYPE_CHECKING, Any

from mixmood.core.version import __version__

if TYPE_CHECKING:
    from mixmood import measures
    from mixmood.api.demo import demo
    from mixmood.api.embed import embed
    from mixmood.api.filter import Kept, filter
    from mixmood.api.predict import predict
    from mixmood.api.rank import RankReport, rank
    from mixmood.api.testbed import report_testbed, run_testbed
    from mixmood.api.train import train
    from mixmood.ranking.statistics.dissimilarity import dissimilarity

__all__ = [
    "Kept",
    "RankReport",
    "__version__",
    "demo",
    "dissimilarity",
    "embed",
    "filter",
    "measures",
    "predict",
    "rank",
    "report_testbed",
    "run_testbed",
    "train",
]

_HOMES = {
    "Kept": "mixmood.api.filter.Kept",
    "filter": "mixmood.api.filter.filter",
    "demo": "mixmood.api.demo.demo",
    "RankReport": "mixmood.api.rank.RankReport",
    "rank": "mixmood.api.rank.rank",
    "report_testbed": "mixmood.api.testbed.report_testbed",
    "run_testbed": "mixmood.api.testbed.run_testbed",
    "dissimilarity": "mixmood.ranking.statistics.dissimilarity.dissimilarity",
    "embed": "mixmood.api.embed.embed",
    "predict": "mixmood.api.predict.predict",
    "train": "mixmood.api.train.train",
}


def __dir__() -> list[str]:
    """All public names, also those not loaded yet, for completion with Tab."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import public names when they are first used: `mixmood --help` needs none of them."""
    from importlib import import_module

    if name in _HOMES:
        module, _, attribute = _HOMES[name].rpartition(".")
        return getattr(import_module(module), attribute)
    if name == "measures":
        return import_module("mixmood.measures")
    raise AttributeError(f"module 'mixmood' has no attribute {name!r}")
