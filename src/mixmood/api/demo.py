"""`mixmood.demo`: the main job on embedded data."""

from typing import Any

from mixmood.api.rank import RankReport, rank
from mixmood.core.progress import Progress


def demo(seed: int = 0, progress: Progress | None = None, **options: Any) -> RankReport:
    """The ranking of the embedded pools: digits, photos and noise against sixty digits."""
    from mixmood.data.sets.demo import demo_sets

    labelled, pools = demo_sets(seed)
    return rank(labelled, pools, seed=seed, progress=progress, **options)
