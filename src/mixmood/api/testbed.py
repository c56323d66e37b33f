"""`mixmood.run_testbed` and its status, and `mixmood.report_testbed`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixmood.core.files import written
from mixmood.core.options import plan_from, with_options
from mixmood.testbed.plan import TablesPlan, TestbedPlan

if TYPE_CHECKING:
    from mixmood.testbed.driver import Status, StoreStatus, Watch
    from mixmood.testbed.plan import PreparedTestbed


def run_testbed(
    testbed: str | Path,
    store: str | Path,
    *,
    watch: "Watch" = lambda status, record: None,
    **options: Any,
) -> "Status":
    """Run a test bed; runs whose records are in the store are not repeated. Returns the status.

    It can be stopped at any moment and called again: every finished run is kept.

    Args:
        testbed: The name of a preset, or a TOML file.
        store: The folder of the records; it is made if it does not exist.
        watch: Called after every change with the status, and with the record of the run that just
            finished, if one did.
    """
    return prepared_testbed(testbed, plan_from(TestbedPlan, options)).run(store, watch)


with_options(run_testbed, TestbedPlan)


def prepared_testbed(testbed: str | Path, plan: TestbedPlan) -> "PreparedTestbed":
    """The test bed with its jobs, after a check of all names and data sets."""
    from mixmood.testbed.config import load_config
    from mixmood.testbed.plan import prepare

    return prepare(load_config(testbed), plan)


def testbed_status(store: str | Path) -> "StoreStatus":
    """The progress of the test bed in a store, also while another process runs it."""
    from mixmood.testbed.driver import store_status
    from mixmood.testbed.store import Store

    return store_status(Store(store))


def report_testbed(
    store: str | Path,
    path: str | Path | None = None,
    *,
    command: str | None = None,
    **options: Any,
) -> str:
    """One self-contained page of a test bed; also written to `path`, if one is given.

    Args:
        store: The folder of the test bed's records.
        path: Where to write the page.
        command: The command that made the page; the page shows it.
    """
    return report_planned(store, path, plan_from(TablesPlan, options), command)


with_options(report_testbed, TablesPlan)


def report_planned(
    store: str | Path, path: str | Path | None, plan: TablesPlan, command: str | None = None
) -> str:
    """`report_testbed` with its options as a checked plan."""
    from mixmood.report.testbed.page import overview_page
    from mixmood.testbed.analysis.overview import overview
    from mixmood.testbed.store import Store

    record = overview(Store(store), plan.choice, plan.cells, plan.beside_paper)
    return written(overview_page(record, command), path)
