"""`mixmood filter`: the useful part of a pool."""

import shlex
import sys
from typing import Annotated

import typer

from mixmood.cli.rank import check_outputs
from mixmood.cli.terminal import options
from mixmood.cli.terminal.bars import progress_bars
from mixmood.cli.terminal.streams import put, say, warnings_said
from mixmood.core.errors import OptionError


def filter(
    labelled: Annotated[
        str, typer.Argument(metavar="LABELLED", help="The labelled images; - with --load.")
    ],
    pool: Annotated[str, typer.Argument(metavar="POOL", help="The pool to filter.")],
    out: Annotated[
        str,
        typer.Option(
            metavar="FILE.csv|.parquet|.txt",
            help="The list to write: a row for every image (.txt: the kept paths only).",
        ),
    ],
    keep: Annotated[
        str,
        typer.Option(
            metavar="auto|SHARE|COUNT",
            help="auto keeps the estimated useful part; 0.3 the best 30 %; 500 the best 500.",
        ),
    ] = "auto",
    threshold: Annotated[
        float | None, typer.Option(help="Keep what scores at least this; in place of --keep.")
    ] = None,
    score: Annotated[
        str, typer.Option(help="combined, classifier, knn, prototypes or subspace.")
    ] = "combined",
    balance: Annotated[
        bool, typer.Option("--balance", help="Keep as many images of each class.")
    ] = False,
    diverse: Annotated[
        float,
        typer.Option(help="Above 0 (up to 1): keep the half that differ most from each other."),
    ] = 0.0,
    link: Annotated[
        str | None, typer.Option(metavar="DIR", help="Make a folder of hard links to them.")
    ] = None,
    copy: Annotated[
        str | None, typer.Option(metavar="DIR", help="Make a folder of copies of them.")
    ] = None,
    save: Annotated[
        str | None, typer.Option(metavar="FILE.npz", help="Keep the fitted filter for later.")
    ] = None,
    load: Annotated[
        str | None,
        typer.Option(metavar="FILE.npz", help="Use a saved filter; LABELLED is then -."),
    ] = None,
    backbone: options.Backbone = "efficientnet-lite0",
    resolution: options.Resolution = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    backend: Annotated[str, typer.Option(help="local or ray.")] = "local",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a scan that was interrupted.")
    ] = False,
    json: options.Json = None,
    html: options.Html = None,
    cache: options.Cache = "default",
    quiet: options.Quiet = False,
) -> None:
    """Score every image of a pool, and keep the useful part.

    The list that it writes is itself a pool for rank, filter and train. A scan of any size can be
    interrupted and resumed.

    Example: mixmood filter labelled/ crawl/ --out kept.csv --html kept.html
    """
    from mixmood.api.filter import filter as filter_pool
    from mixmood.report.filter.text import filter_lines

    if (labelled == "-") != (load is not None):
        raise OptionError("Give the labelled images; or - together with --load FILE.npz.")
    check_outputs(json, out, html)
    with warnings_said(), progress_bars(quiet) as progress:
        kept = filter_pool(
            None if labelled == "-" else labelled,
            pool,
            keep=keep,
            threshold=threshold,
            score=score,
            balance=balance,
            diverse=diverse,
            out=out,
            link=link,
            copy=copy,
            save=save,
            load=load,
            backbone=backbone,
            resolution=resolution,
            seed=seed,
            jobs=jobs,
            cache=None if cache == "none" else cache,
            backend=backend,
            resume=resume,
            progress=progress,
        )
    put(json, kept.to_json())
    if html is not None:
        kept.to_html(html, command=shlex.join(["mixmood", *sys.argv[1:]]))
    if json != "-":
        for line in filter_lines(kept.record):
            typer.echo(line)
        say(
            f"The list is in {out}. Train with it: mixmood train --labelled {labelled} "
            f"--unlabelled {out} --out run"
        )
