"""`mixmood check`: labels that look wrong."""

from typing import Annotated

import typer

from mixmood.cli import options
from mixmood.cli.options import takes
from mixmood.cli.terminal import Bars, deliver, readable, say
from mixmood.selection.plan import CheckPlan


@takes(CheckPlan)
def check(
    labelled: options.Labelled,
    plan: CheckPlan,
    json: options.Json = None,
    csv: Annotated[
        str | None, options.file("Write every image, the worst first; - is stdout.")
    ] = None,
    html: options.Html = None,
    review: Annotated[
        str | None, options.page("Write a page to correct flagged labels on, in any browser.")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Find labels that look wrong.

    Labels that held-out classifiers contradict, copies in two classes, images unlike all others of
    their class, classes that are confused or too small, and what the set
    would gain without the flagged labels.

    Example: mixmood check labelled/ --html check.html --csv check.csv
    """
    from mixmood.api.check import check as check_labels
    from mixmood.api.outputs import check_outputs

    check_outputs((labelled, plan.against, *plan.labels), (json, csv, html, review))
    with Bars(quiet) as bars:
        report = check_labels(labelled, plan=plan, listener=bars)
    is_free = deliver(report, json, csv, html)
    if review is not None and report.findings:
        report.to_review(review)
        say(f"Open {review} in a browser to correct the labels.")
    if is_free:
        typer.echo(readable(report.to_text()))
