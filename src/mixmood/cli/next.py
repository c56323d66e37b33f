"""`mixmood next`: which images to label."""

from typing import Annotated

import typer

from mixmood.cli import options
from mixmood.cli.options import takes
from mixmood.cli.terminal import Bars, put, say
from mixmood.core.errors import OptionError
from mixmood.core.records.labelling import MOST_IMAGES
from mixmood.selection.plan import NextPlan


@takes(NextPlan)
def next(
    labelled: options.Labelled,
    pools: Annotated[
        list[str], typer.Argument(metavar="POOL...", help="Pools: PATH or NAME=PATH.")
    ],
    plan: NextPlan,
    out: Annotated[
        str | None,
        options.file("Write the list of images: a pool for the other commands.", options.LIST),
    ] = None,
    html: Annotated[
        str | None, options.page("Write a page to label the images on, in any browser.")
    ] = None,
    label_studio: Annotated[
        str | None, options.file("Write the images as tasks of Label Studio.", "FILE.json")
    ] = None,
    json: options.Json = None,
    quiet: options.Quiet = False,
) -> None:
    """Choose the images of pools whose labels would help most.

    They are likely to belong to the classes, the classifier is unsure of them, and they differ from
    each other and from the labelled images. The page saves mixmood-labels.csv for --labels.

    Example: mixmood next labelled/ crawl/ --count 20 --html label.html
    """
    from mixmood.api.next import next as next_images
    from mixmood.api.outputs import check_outputs
    from mixmood.report.label import next_lines

    inputs = (labelled, *options.paths(pools), *plan.labels)
    check_outputs(inputs, (out, html, label_studio, json))
    if plan.count > MOST_IMAGES and (html or label_studio):
        raise OptionError(
            f"A page or a file for Label Studio holds at most {MOST_IMAGES} pictures; --count is "
            f"{plan.count}. Ask for fewer, or for a list (--out)."
        )
    with Bars(quiet) as bars:
        found = next_images(labelled, pools, out=out, plan=plan, listener=bars)
    put(json, found.to_json())
    html, label_studio = (html, label_studio) if found.record.images else (None, None)
    if html is not None:
        found.to_html(html)
    if label_studio is not None:
        found.to_label_studio(label_studio)
    if json != "-":
        typer.echo("\n".join(next_lines(found.record)))
    if html is not None:
        say(f"Open {html} in a browser to label the images.")
