"""What several commands share: options with their help, and an exit code."""

from typing import Annotated

import typer

INTERRUPTED = 130
"""The exit code of a program ended by Ctrl-C."""

Measures = Annotated[
    list[str],
    typer.Option(
        "--measure",
        help="cosine, js, l1, l2, frechet, kernel, energy, sliced-wasserstein, classifier, "
        "typicality or all; may be given several times, the first one ranks.",
    ),
]
Backbone = Annotated[
    str, typer.Option(help="efficientnet-lite0, wide-resnet50-2, untrained-wrn, or FILE.onnx.")
]
Resolution = Annotated[
    int | None, typer.Option(help="Pixels a side that the backbone sees.", show_default="96")
]
SampleSize = Annotated[int, typer.Option(help="Images in a draw (tau).")]
Draws = Annotated[int, typer.Option(help="Number of draws (C).")]
Seed = Annotated[int, typer.Option(help="Decides every random choice.")]
Jobs = Annotated[int | None, typer.Option(help="Threads.", show_default="all cores")]
Json = Annotated[
    str | None, typer.Option("--json", metavar="FILE|-", help="Write the record; - is stdout.")
]
Csv = Annotated[
    str | None,
    typer.Option(
        "--csv", metavar="FILE|-", help="Write one row for each pool and measure; - is stdout."
    ),
]
Html = Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write one HTML page.")]
Cache = Annotated[
    str,
    typer.Option(
        metavar="DIR|none",
        help="Where features are kept between runs.",
        show_default="the user's cache directory",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars.")]
Until = Annotated[
    float | None,
    typer.Option(
        metavar="P",
        help="Stop reading once the nearest pool is the nearest with this probability, e.g. 0.99.",
    ),
]
Paper = Annotated[
    bool,
    typer.Option(
        "--paper",
        help="Every open choice as in the paper's code: overlapping references, outer values "
        "dropped.",
    ),
]
