"""`mixmood demo`: the main job on embedded data."""

from mixmood.cli.rank import check_outputs, deliver
from mixmood.cli.terminal import options
from mixmood.cli.terminal.bars import progress_bars
from mixmood.cli.terminal.streams import warnings_said


def demo(
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    json: options.Json = None,
    csv: options.Csv = None,
    html: options.Html = None,
    cache: options.Cache = "default",
    quiet: options.Quiet = False,
) -> None:
    """Rank five embedded pools against sixty digits.

    It needs no files and no network, and takes less than a minute. The labelled set is
    sixty handwritten digits 0 to 4. The pools are more of the same, the digits 5 to 9, patches of
    two photos, and two kinds of noise; they should come out in that sense.

    Example: mixmood demo --html report.html
    """
    from mixmood.api.demo import demo as rank_embedded

    check_outputs(json, csv, html)
    with warnings_said(), progress_bars(quiet) as progress:
        report = rank_embedded(seed, progress, jobs=jobs, cache=None if cache == "none" else cache)
    deliver(report, json, csv, html)
