"""`mixmood filter`: the useful part of a pool."""

import os
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from mixmood.cli.rank import check_outputs
from mixmood.cli.terminal import options
from mixmood.cli.terminal.bars import progress_bars
from mixmood.cli.terminal.plan_command import takes
from mixmood.cli.terminal.streams import put, say, warnings_said
from mixmood.core.errors import OptionError, OutputError
from mixmood.core.files.places import expanded
from mixmood.selection.plan import FilterPlan


@takes(FilterPlan)
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
    plan: FilterPlan,
    json: options.Json = None,
    html: options.Html = None,
    quiet: options.Quiet = False,
) -> None:
    """Score every image of a pool, and keep the useful part.

    The list that it writes is itself a pool for rank, filter and train. A scan of any size can be
    interrupted, and goes on with --resume.

    Example: mixmood filter labelled/ crawl/ --out kept.csv --html kept.html
    """
    from mixmood.api.filter import filter_planned
    from mixmood.report.filter.text import filter_lines

    if (labelled == "-") != (plan.load is not None):
        raise OptionError("Give the labelled images; or - together with --load FILE.npz.")
    check_outputs(json, out, html)
    _check_inputs_stay((labelled, pool), (json, html))
    with warnings_said(), progress_bars(quiet) as progress, _resuming(out):
        kept = filter_planned(None if labelled == "-" else labelled, pool, out, plan, progress)
    put(json, kept.to_json())
    if html is not None:
        kept.to_html(html, command=shlex.join(["mixmood", *sys.argv[1:]]))
    if json != "-":
        for line in filter_lines(kept.record):
            typer.echo(line)
    if plan.load is None and kept.record.n_kept and kept.record.classes:
        words = ("train", "--labelled", labelled, "--unlabelled", out, "--out", "run")
        say(f"The list is in {out}. Train with it: {shlex.join(['mixmood', *words])}")


def _check_inputs_stay(inputs: Iterable[str], outputs: Iterable[str | None]) -> None:
    from mixmood.data.pools.path_options import split_options

    places = [os.path.realpath(split_options(expanded(place)).path) for place in inputs]
    for target in outputs:
        if target not in (None, "-") and os.path.realpath(str(target)) in places:
            raise OptionError(f"{target} is one of the inputs. Name another file to write.")


@contextmanager
def _resuming(out: str) -> Iterator[None]:
    """Say how to go on with a scan that is interrupted, or fails in the middle."""
    was_begun = Path(f"{out}.parts").is_dir()
    try:
        yield
    except KeyboardInterrupt:
        if not Path(f"{out}.parts").is_dir():
            raise
        say("Interrupted. Go on with the same command and --resume.")
        raise typer.Exit(options.INTERRUPTED) from None
    except OutputError:
        if Path(f"{out}.parts").is_dir() and not was_begun:
            say("What was scanned is kept: go on with the same command and --resume.")
        raise
