"""`mixmood rank`, the main job, and `mixmood demo`, the same on embedded data."""

from typing import Annotated

import typer

from mixmood.cli import options
from mixmood.cli.options import takes
from mixmood.cli.terminal import Bars, console, deliver, show
from mixmood.ranking.plan import RankingPlan


@takes(RankingPlan)
def rank(
    labelled: options.Labelled,
    candidates: Annotated[
        list[str], typer.Argument(metavar="CANDIDATE...", help="Pools: PATH or NAME=PATH.")
    ],
    plan: RankingPlan,
    json: options.Json = None,
    csv: options.Csv = None,
    html: options.Html = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print distances, reasons and notes too.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Rank pools of images: what each would gain, and how near it is to a labelled set.

    A set is a folder (class sub-folders give labels), a zip or tar of images, a .npy or .npz array
    of images or features, an IDX file, a Parquet file, a .txt or .csv list of paths, or noise
    (noise:gaussian, noise:salt-and-pepper). A pool that cannot be ranked is set aside and named.

    Example: mixmood rank labelled/ web=crawl.zip clinic=scans/ noise:gaussian --html report.html
    """
    from mixmood.api.outputs import check_outputs
    from mixmood.api.rank import rank as rank_pools
    from mixmood.report.ranking.text import ranking_view

    check_outputs((labelled, *options.paths(candidates), *plan.labels), (json, csv, html))
    with Bars(quiet) as bars:
        report = rank_pools(labelled, candidates, plan=plan, listener=bars)
    if deliver(report, json, csv, html):
        show(ranking_view(report, is_plain=not console().is_terminal, is_verbose=verbose))


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
    from mixmood.api.outputs import check_outputs
    from mixmood.api.rank import demo as rank_demo
    from mixmood.report.ranking.text import ranking_view

    check_outputs((), (json, csv, html))
    with Bars(quiet) as bars:
        report = rank_demo(plan=plan, listener=bars)
    if deliver(report, json, csv, html):
        show(ranking_view(report, is_plain=not console().is_terminal))
