"""`mixmood.demo`: a ranking of embedded data."""

from typing import Any

from mixmood.api.rank import RankReport, rank_planned
from mixmood.core.plan_options import plan_from, with_options
from mixmood.core.progress import Progress
from mixmood.ranking.plan import RankingPlan


def demo(*, progress: Progress | None = None, **options: Any) -> RankReport:
    """The ranking of the embedded pools: digits, photos and noise against sixty digits.

    Args:
        progress: Called after every image read.
        options: The options of `mixmood.rank`.
    """
    return demo_planned(plan_from(RankingPlan, options), progress)


with_options(demo, RankingPlan)


def demo_planned(plan: RankingPlan, progress: Progress | None = None) -> RankReport:
    """`demo` with its options as a checked plan."""
    from mixmood.data.sets import demo_sets

    return rank_planned(*demo_sets(plan.seed), plan, progress)
