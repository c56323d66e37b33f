"""`mixmood rank`: the main job."""

import os
import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from mixmood.cli.terminal import options
from mixmood.cli.terminal.bars import progress_bars
from mixmood.cli.terminal.streams import console, put, show, warnings_said
from mixmood.core.errors import OptionError
from mixmood.core.files.atomic import check_writable

if TYPE_CHECKING:
    from mixmood.api.rank import RankReport


def rank(
    labelled: Annotated[str, typer.Argument(metavar="LABELLED", help="The labelled images.")],
    candidates: Annotated[
        list[str],
        typer.Argument(metavar="CANDIDATE...", help="Pools: PATH or NAME=PATH."),
    ],
    measure: options.Measures = ["cosine"],  # noqa: B006 - typer copies it
    backbone: options.Backbone = "efficientnet-lite0",
    resolution: options.Resolution = None,
    sample_size: options.SampleSize = 80,
    draws: options.Draws = 30,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    until: options.Until = None,
    paper: options.Paper = False,
    json: options.Json = None,
    csv: options.Csv = None,
    html: options.Html = None,
    cache: options.Cache = "default",
    quiet: options.Quiet = False,
) -> None:
    """Rank pools of images by their distance from a labelled set.

    A set is a folder (class sub-folders give labels), a zip or tar of images, a .npy or .npz array
    of images or features, an IDX file, a Parquet file, a .txt or .csv list of paths, or noise
    (noise:gaussian, noise:salt-and-pepper).

    Example: mixmood rank labelled/ web=crawl.zip clinic=scans/ noise:gaussian --html report.html
    """
    from mixmood.api.rank import rank as rank_pools

    check_outputs(json, csv, html)
    with warnings_said(), progress_bars(quiet) as progress:
        report = rank_pools(
            labelled,
            candidates,
            measures=measure,
            backbone=backbone,
            resolution=resolution,
            sample_size=sample_size,
            draws=draws,
            seed=seed,
            jobs=jobs,
            cache=None if cache == "none" else cache,
            until=until,
            paper=paper,
            progress=progress,
        )
    deliver(report, json, csv, html)


def check_outputs(json: str | None, csv: str | None, html: str | None = None) -> None:
    """Refuse an output that cannot be written, before any work is done for it."""
    if html == "-":
        raise OptionError("The page is written to a file, not to stdout. Give --html FILE.")
    targets = [target for target in (json, csv, html) if target is not None]
    places = [target if target == "-" else os.path.realpath(target) for target in targets]
    for target, place in zip(targets, places, strict=True):
        if places.count(place) > 1 and place != os.devnull:
            raise OptionError(
                f"Two results would be written to {target}, the second over the first. "
                "Give each a file of its own."
            )
        if target != "-":
            check_writable(target)


def deliver(report: "RankReport", json: str | None, csv: str | None, html: str | None) -> None:
    """Write what was asked for, and show the table unless stdout is taken."""
    from mixmood.report.ranking.text import ranking_view

    put(json, report.to_json())
    put(csv, report.to_csv())
    if html is not None:
        report.to_html(html, command=shlex.join(["mixmood", *sys.argv[1:]]))
    if "-" not in (json, csv):
        show(ranking_view(report, is_plain=not console().is_terminal))
