"""`mixmood.run_testbed` and `mixmood.report_testbed`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mixmood.core.files.atomic import written

if TYPE_CHECKING:
    from mixmood.testbed.runs.driver import Status, Watch
    from mixmood.testbed.runs.record import Choice


def run_testbed(
    testbed: str | Path,
    store: str | Path,
    *,
    jobs: int | None = None,
    backend: str = "local",
    ray_address: str | None = None,
    gpus_per_run: float = 0.0,
    only: Sequence[str] = (),
    seeds: int | None = None,
    retry_failed: bool = False,
    mlflow: str | None = None,
    cache: str = "default",
    watch: "Watch | None" = None,
) -> "Status":
    """Run what is not yet in the store; the status says how many runs are done and failed.

    It can be stopped at any moment and called again: every finished run is kept.

    Args:
        testbed: The name of a preset, or a TOML file.
        store: The folder of the records; it is made if it is not there.
        jobs: Runs at once; all cores if it is left out.
        backend: "local" or "ray".
        ray_address: A running Ray cluster; otherwise one is started here.
        gpus_per_run: Share of a GPU for each run, with Ray.
        only: Only some cells, such as `["task=mnist,n_labelled=60"]`.
        seeds: Runs of each cell, if not as many as the test bed asks for.
        retry_failed: Repeat the runs that ended with an error.
        mlflow: Log to this MLflow server; "default" is a SQLite file in the store.
        cache: The folder of the feature cache, "default" or "none".
        watch: Called after every change with the status, and with the record of the run that just
            finished, if one did.
    """
    from mixmood.testbed.plan import TestbedPlan

    plan = TestbedPlan(
        testbed=testbed,
        store=Path(store),
        jobs=jobs,
        backend=backend,
        ray_address=ray_address,
        gpus_per_run=gpus_per_run,
        only=tuple(only),
        seeds=seeds,
        retry_failed=retry_failed,
        mlflow=mlflow,
        cache=cache,
    )
    return plan.run(plan.work(), watch or (lambda status, record: None))


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
