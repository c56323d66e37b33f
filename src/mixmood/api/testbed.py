"""`mixmood.report_testbed`: the page of a test bed."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mixmood.core.files.atomic import written

if TYPE_CHECKING:
    from mixmood.testbed.analysis.summary import Choice


def report_testbed(
    store: str | Path,
    path: str | Path | None = None,
    *,
    selection: "Choice" = "last",
    only: Sequence[str] = (),
    beside_paper: bool = False,
    command: str | None = None,
) -> str:
    """One self-contained page of a test bed; also written to `path`, if one is given.

    Args:
        store: The folder of the test bed's records.
        path: Where to write the page.
        selection: Which epoch's accuracy counts: "last", "median", "validation" or "best".
        only: Only some cells, such as `["task=mnist,n_labelled=60"]`.
        beside_paper: Show the paper's numbers beside those of the same cells.
        command: What was typed to get the page; it is shown there.
    """
    from mixmood.report.testbed.page import overview_page
    from mixmood.testbed.analysis.overview import overview, to_json
    from mixmood.testbed.grid.cells import Selection
    from mixmood.testbed.runs.store import Store

    record = overview(Store(store), selection, Selection.parse(only), beside_paper)
    return written(overview_page(record, to_json(record), command), path)
