"""mixmood: which pool of unlabelled images should I train with?"""

from typing import TYPE_CHECKING, Any

from mixmood.core.version import __version__

if TYPE_CHECKING:
    from mixmood import measures
    from mixmood.api import RankReport, rank
    from mixmood.ranking.dissimilarity import dissimilarity

__all__ = ["RankReport", "__version__", "dissimilarity", "measures", "rank"]

_HOME = {
    "RankReport": "mixmood.api",
    "rank": "mixmood.api",
    "dissimilarity": "mixmood.ranking.dissimilarity",
}


def __getattr__(name: str) -> Any:
    """Import public names when they are first used: `mixmood --help` needs none of them."""
    from importlib import import_module

    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name == "measures":
        return import_module("mixmood.measures")
    raise AttributeError(f"module 'mixmood' has no attribute {name!r}")
