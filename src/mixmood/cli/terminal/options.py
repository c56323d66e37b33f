"""Options of several commands, with their help, and an exit code."""

from typing import Annotated

import typer

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
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars.")]
