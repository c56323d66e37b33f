"""`mixmood.run_testbed`, `testbed_status`, `testbed_tables`, `report_testbed`, `correlate`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixmood.core.errors import InputError, OptionError
from mixmood.core.files import make_folder, write_atomic, written
from mixmood.core.listener import Listener, Silent
from mixmood.core.options import with_options
from mixmood.core.text import counted, unknown_name
from mixmood.testbed.config import Config, load_config
from mixmood.testbed.driver import Status, StoreStatus, Watch, jobs_for, run_jobs
from mixmood.testbed.plan import TablesPlan, TestbedPlan
from mixmood.testbed.run import Job
from mixmood.testbed.store import Store

if TYPE_CHECKING:
    from mixmood.testbed.analysis.correlate import Agreement
    from mixmood.testbed.analysis.tables import Tables
    from mixmood.testbed.cells import CellFilter


@with_options(TestbedPlan)
def run_testbed(
    testbed: str | Path,
    store: str | Path,
    *,
    plan: TestbedPlan,
    watch: Watch = lambda status, record: None,
    listener: Listener | None = None,
) -> Status:
    """Run a test bed; runs whose records are in the store are not repeated. Returns the status.

    It can be stopped at any moment and called again: every finished run is kept.

    Args:
        testbed: The name of a preset, or a TOML file.
        store: The folder of the records; it is made if it does not exist.
        watch: Called after every change with the status, and with the record of the run that just
            finished, if one did.
    """
    listener = listener or Silent()
    config, jobs = prepared_testbed(testbed, plan, listener)
    at_once = f"{plan.n_jobs} at once" if plan.n_jobs else "as many at once as the cluster takes"
    listener.note(f"{counted(len(jobs), 'run')}, {at_once}; finished runs are kept in {store}.")
    return run_jobs(jobs, Store.make(store, config), plan, watch, listener)


def prepared_testbed(
    testbed: str | Path, plan: TestbedPlan, listener: Listener
) -> tuple[Config, list[Job]]:
    """The test bed with its jobs, after a check of all names and data sets."""
    config = load_config(testbed)
    listener.note(f"Checking the test bed {config.name} and its data sets ...")
    return config, jobs_for(config, plan)


def testbed_status(store: str | Path) -> StoreStatus:
    """The progress of the test bed in a store, also while another process runs it."""
    return StoreStatus.of(Store(store))


FORMATS = ("text", "markdown", "latex", "csv", "json")
NUMBERS = (1, 2, 3, 4, 5)


@dataclass(frozen=True, repr=False)
class TestbedTables:
    """The tables of a test bed: the numbers in `tables`, and methods that write them."""

    __test__ = False  # By its name, pytest would collect it as a test.

    tables: "Tables"
    _store: Store
    _only: "CellFilter"

    def to_text(self, format: str = "text", table: int | None = None) -> str:
        """One table or all, as text, markdown, latex, csv (one table only) or json."""
        check_format(format, table)
        numbers = self._numbers if table is None else (table,)
        content: Any = self.tables.to_dict()
        if format == "json":
            hidden = {f"table{n}" for n in NUMBERS if n not in numbers}
            shown = {key: value for key, value in content.items() if key not in hidden}
            return json.dumps(shown, indent=1, allow_nan=False) + "\n"
        from mixmood.report.testbed.sheets import SHEETS, render_sheet, to_csv

        if format == "csv":
            return to_csv(content[f"table{table}"])
        return "\n".join(render_sheet(SHEETS[n](self.tables), format) for n in numbers)

    @property
    def _numbers(self) -> tuple[int, ...]:
        """Tables 4 and 5 are left out if no run has arms."""
        return NUMBERS if self.tables.arms else NUMBERS[:3]

    def write(self, folder: str | Path) -> None:
        """All tables (Markdown, CSV, JSON), their figures and records, into a folder."""
        from mixmood.report.testbed.export import figures, records_csv_gz
        from mixmood.testbed.analysis.tables import chosen_records

        place = make_folder(Path(folder))
        files: dict[str, str | bytes] = {**figures(self.tables)}
        for number in self._numbers:
            files[f"table{number}.md"] = self.to_text("markdown", number)
            files[f"table{number}.csv"] = self.to_text("csv", number)
        files["tables.json"] = self.to_text("json")
        files["records.csv.gz"] = records_csv_gz(chosen_records(self._store, self._only))
        for name, content in files.items():
            write_atomic(place / name, content)

    def __repr__(self) -> str:
        """The number of cells and of rows of Table 3."""
        n_cells, n_rows = len(self.tables.accuracies), len(self.tables.agreements)
        return f"<TestbedTables of {n_cells} cells, {n_rows} correlations>"


@with_options(TablesPlan)
def testbed_tables(
    store: str | Path,
    *,
    plan: TablesPlan,
    is_correlated: bool = False,  # noqa: PT028 - no test
) -> TestbedTables:
    """Accuracies, distances, and how well distances predict accuracies, for all cells of a store.

    Args:
        store: The folder of the test bed's records.
        is_correlated: Refuse a store with too few cells for a correlation.
    """
    from mixmood.testbed.analysis.groups import LEAST_CELLS
    from mixmood.testbed.analysis.tables import make_tables

    place = Store(store)
    found = make_tables(place, plan.choice, plan.cells, None, plan.beside_paper, plan.tested_arm)
    if is_correlated and not found.agreements:
        raise InputError(
            f"To correlate, at least {LEAST_CELLS} contaminated cells of one task must share a "
            "seed. Run more of the test bed, or select less strictly."
        )
    return TestbedTables(found, place, plan.cells)


def check_format(format: str, table: int | None) -> None:
    """Refuse an unknown format or table, and CSV of all tables."""
    if format not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    if table not in (None, *NUMBERS):
        raise OptionError(f"There are tables 1 to 5; got {table}.")
    if format == "csv" and table is None:
        raise OptionError("CSV holds one table: choose it with --table, or write all with --out.")


@with_options(TablesPlan)
def report_testbed(
    store: str | Path,
    path: str | Path | None = None,
    *,
    plan: TablesPlan,
    command: str | None = None,
) -> str:
    """One self-contained page of a test bed; also written to `path`, if one is given.

    Args:
        store: The folder of the test bed's records.
        path: Where to write the page.
        command: The command that made the page; the page shows it.
    """
    from mixmood.report.testbed.page import overview_page
    from mixmood.testbed.analysis.overview import overview

    record = overview(Store(store), plan.choice, plan.cells, plan.beside_paper, plan.tested_arm)
    return written(overview_page(record, command), path)


def correlate(accuracies: str | Path, distances: str | Path) -> "list[Agreement]":
    """Pearson, Spearman and regret of distances against accuracies, one row for each measure.

    Args:
        accuracies: A CSV table with the columns task, ood_source, ood_percent, n_labelled and
            accuracy_mean.
        distances: A CSV table with the columns task, ood_source, ood_percent, measure and
            distance_mean.
    """
    from mixmood.testbed.analysis.correlate import agreements, read_accuracies, read_distances

    return agreements(read_accuracies(accuracies), read_distances(distances))
