"""`mixmood testbed report`: the test bed as one HTML page."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from mixmood.cli.terminal.plan_command import takes
from mixmood.cli.terminal.streams import say
from mixmood.cli.testbed.tables import StoreOption
from mixmood.core.errors import OptionError
from mixmood.core.files import check_writable
from mixmood.testbed.plan import TablesPlan


@takes(TablesPlan)
def report(
    store: StoreOption,
    html: Annotated[str, typer.Option("--html", metavar="FILE.html", help="Where to write it.")],
    plan: TablesPlan,
) -> None:
    """Write answer, tables and pictures as one HTML page.

    Example: mixmood testbed report --store smoke --html smoke.html
    """
    from mixmood.api.testbed import report_planned

    if Path(html).suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"The page needs a name that ends in .html; got '{html}'.")
    check_writable(html)
    report_planned(store, html, plan, shlex.join(["mixmood", *sys.argv[1:]]))
    say(f"The page is in {html}.")
