"""`mixmood.demo`: a ranking of embedded data."""

from mixmood.api.rank import RankReport, rank
from mixmood.core.listener import Listener
from mixmood.core.options import with_options
from mixmood.data.sets import demo_sets
from mixmood.ranking.plan import RankingPlan


@with_options(RankingPlan)
def demo(*, plan: RankingPlan, listener: Listener | None = None) -> RankReport:
    """The ranking of the embedded pools: digits, photos and noise against sixty digits.

    Args:
        listener: Gets progress, warnings and notes.
    """
    return rank(*demo_sets(plan.seed), plan=plan, listener=listener)
