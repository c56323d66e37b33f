"""`mixmood.run_testbed` and `mixmood.report_testbed`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixmood.core.files.atomic import written
from mixmood.core.plan_options import plan_from, with_options
from mixmood.testbed.plan import TestbedPlan

if TYPE_CHECKING:
    from mixmood.testbed.runs.driver import Status, Watch
    from mixmood.testbed.runs.record import Choice


def run_testbed(
    testbed: str | Path,
    store: str | Path,
    *,
    watch: "Watch" = lambda status, record: None,
    **options: Any,
) -> "Status":
    """Run what is not yet in the store; the status says how many runs are done and failed.

    It can be stopped at any moment and called again: every finished run is kept.

    Args:
        testbed: The name of a preset, or a TOML file.
        store: The folder of the records; it is made if it is not there.
        watch: Called after every change with the status, and with the record of the run that just
            finished, if one did.
    """
    from mixmood.testbed.grid.config import load_config
    from mixmood.testbed.plan import prepare

    return prepare(load_config(testbed), plan_from(TestbedPlan, options)).run(store, watch)


with_options(run_testbed, TestbedPlan)


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
        command: The command that made the page; it is shown there.
    """
    from mixmood.report.testbed.page import overview_page
    from mixmood.testbed.analysis.overview import overview
    from mixmood.testbed.grid.cells import CellFilter
    from mixmood.testbed.runs.store import Store

    record = overview(Store(store), selection, CellFilter.parse(only), beside_paper)
    return written(overview_page(record, command), path)
