"""`mixmood.demo`: a ranking of embedded data."""

from typing import Any

from mixmood.api.rank import RankReport, rank_planned
from mixmood.core.listener import Listener
from mixmood.core.options import plan_from, with_options
from mixmood.ranking.plan import RankingPlan


def demo(*, listener: Listener | None = None, **options: Any) -> RankReport:
    """The ranking of the embedded pools: digits, photos and noise against sixty digits.

    Args:
        listener: Gets progress, warnings and notes.
        options: The options of `mixmood.rank`.
    """
    return demo_planned(plan_from(RankingPlan, options), listener)


with_options(demo, RankingPlan)


def demo_planned(plan: RankingPlan, listener: Listener | None = None) -> RankReport:
    """`demo` with its options as a checked plan."""
    from mixmood.data.sets import demo_sets

    return rank_planned(*demo_sets(plan.seed), plan, listener)
