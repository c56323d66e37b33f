"""`mixmood demo`: the main job on embedded data."""

from mixmood.cli import options
from mixmood.cli.options import takes
from mixmood.cli.rank import deliver
from mixmood.cli.terminal import Bars
from mixmood.ranking.plan import RankingPlan


@takes(RankingPlan, without=("backbone", "resolution", "depth", "groups", "paper", "strict"))
def demo(
    plan: RankingPlan,
    json: options.Json = None,
    csv: options.Csv = None,
    html: options.Html = None,
    quiet: options.Quiet = False,
) -> None:
    """Rank five embedded pools against sixty digits.

    It needs no files and no network, and takes less than a minute. The labelled set is
    sixty handwritten digits 0 to 4. The pools are more of the same, the digits 5 to 9, patches of
    two photos, and two kinds of noise: only the first should help.

    Example: mixmood demo --html report.html
    """
    from mixmood.api.demo import demo as rank_demo
    from mixmood.api.outputs import check_outputs

    check_outputs((), (json, csv, html))
    with Bars(quiet) as bars:
        report = rank_demo(plan=plan, listener=bars)
    deliver(report, json, csv, html)
