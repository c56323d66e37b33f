"""`mixmood filter`: the useful part of a pool."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from mixmood.cli import options
from mixmood.cli.options import takes
from mixmood.cli.terminal import INTERRUPTED, Bars, deliver, say
from mixmood.core.errors import OptionError, OutputError
from mixmood.selection.plan import FilterPlan


@takes(FilterPlan)
def filter(
    labelled: Annotated[
        str, typer.Argument(metavar="LABELLED", help="The labelled images; - with --load.")
    ],
    pool: Annotated[str, typer.Argument(metavar="POOL", help="The pool to filter.")],
    out: Annotated[
        str,
        options.file(
            "The list to write: a row for every image (.txt: the kept paths only).", options.LIST
        ),
    ],
    plan: FilterPlan,
    json: options.Json = None,
    html: options.Html = None,
    review: Annotated[
        str | None,
        options.page("Write a page to keep or drop the images nearest to the threshold."),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Score every image of a pool, and keep the useful part.

    The list of images that it writes is a pool for rank, filter and train. A scan of any size can
    be interrupted and continued with --resume.

    Example: mixmood filter labelled/ crawl/ --out kept.csv --html kept.html
    """
    from mixmood.api.filter import filter as filter_pool
    from mixmood.api.outputs import check_outputs
    from mixmood.report.filter import filter_lines

    if (labelled == "-") != (plan.load is not None):
        given = f"got LABELLED {labelled} and {f'--load {plan.load}' if plan.load else 'no --load'}"
        raise OptionError(f"Give the labelled images, or - together with --load FILE.npz; {given}.")
    check_outputs((labelled, pool, plan.load, *plan.labels), (out, json, html, review, plan.save))
    base = None if labelled == "-" else labelled
    with Bars(quiet) as bars, _resume_hint(out):
        kept = filter_pool(base, pool, out=out, plan=plan, listener=bars)
    is_free = deliver(kept, json, None, html)
    if review is not None:
        kept.to_review(review)
    if is_free:
        typer.echo("\n".join(filter_lines(kept.record)))


@contextmanager
def _resume_hint(out: str) -> Iterator[None]:
    """Say how to continue a scan that is interrupted or fails before its end."""
    parts = Path(f"{out}.parts")
    was_begun = parts.is_dir()
    try:
        yield
    except KeyboardInterrupt:
        if not parts.is_dir():
            raise
        say("Interrupted. Continue with the same command and --resume.")
        raise typer.Exit(INTERRUPTED) from None
    except OutputError:
        if parts.is_dir() and not was_begun:
            say("The finished parts are kept: continue with the same command and --resume.")
        raise
