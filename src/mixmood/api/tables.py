"""`mixmood.testbed_tables`: the paper's three tables from the records of a store."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixmood.core.errors import OptionError
from mixmood.core.files import make_folder, write_atomic
from mixmood.core.options import plan_from, with_options
from mixmood.core.text import unknown_name
from mixmood.testbed.plan import TablesPlan

if TYPE_CHECKING:
    from mixmood.testbed.analysis.tables import Tables
    from mixmood.testbed.store import Store

FORMATS = ("text", "markdown", "latex", "csv", "json")
NUMBERS = (1, 2, 3)


@dataclass(frozen=True, repr=False)
class TestbedTables:
    """The tables of a test bed: the numbers in `tables`, and methods that write them."""

    __test__ = False  # By its name, pytest would collect it as a test.

    tables: "Tables"
    _store: "Store"

    def to_text(self, format: str = "text", table: int | None = None) -> str:
        """One table or all, as text, markdown, latex, csv (one table only) or json."""
        check_format(format, table)
        numbers = NUMBERS if table is None else (table,)
        content: Any = self.tables.to_dict()
        if format == "json":
            hidden = {f"table{n}" for n in NUMBERS if n not in numbers}
            shown = {key: value for key, value in content.items() if key not in hidden}
            return json.dumps(shown, indent=1, allow_nan=False) + "\n"
        from mixmood.report.testbed.sheets import SHEETS, render_sheet, to_csv

        if format == "csv":
            return to_csv(content[f"table{table}"])
        return "\n".join(render_sheet(SHEETS[n](self.tables), format) for n in numbers)

    def write(self, folder: str | Path) -> None:
        """All tables (Markdown, CSV, JSON), the figures and the records, into a folder."""
        from mixmood.report.testbed.export import records_csv_gz
        from mixmood.report.testbed.figures import figures
        from mixmood.testbed.analysis.tables import chosen_records

        place = make_folder(Path(folder))
        for number in NUMBERS:
            write_atomic(place / f"table{number}.md", self.to_text("markdown", number))
            write_atomic(place / f"table{number}.csv", self.to_text("csv", number))
        write_atomic(place / "tables.json", self.to_text("json"))
        write_atomic(place / "records.csv.gz", records_csv_gz(chosen_records(self._store)))
        for name, content in figures(self.tables).items():
            write_atomic(place / name, content)

    def __repr__(self) -> str:
        """The number of cells and of rows of Table 3."""
        n_cells, n_rows = len(self.tables.accuracies), len(self.tables.agreements)
        return f"<TestbedTables of {n_cells} cells, {n_rows} correlations>"


def testbed_tables(store: str | Path, **options: Any) -> TestbedTables:
    """Accuracies, distances, and how well distances predict accuracies, for all cells of a store.

    Args:
        store: The folder of the test bed's records.
    """
    return tables_planned(store, plan_from(TablesPlan, options))


with_options(testbed_tables, TablesPlan)


def tables_planned(
    store: str | Path, plan: TablesPlan, *, is_correlated: bool = False
) -> TestbedTables:
    """`testbed_tables` with its options as a checked plan.

    Args:
        store: The folder of the test bed's records.
        plan: The choice of cells and of the epoch.
        is_correlated: Refuse a store with too few cells for a correlation.
    """
    from mixmood.testbed.analysis.agreement import agreement_rows
    from mixmood.testbed.analysis.tables import chosen_records, make_tables
    from mixmood.testbed.store import Store

    place = Store(store)
    records = chosen_records(place, plan.cells)
    if is_correlated:
        # Only for its error: without cells to correlate, the table would be empty.
        agreement_rows(records, plan.choice)
    found = make_tables(place, plan.choice, plan.cells, records, plan.beside_paper)
    return TestbedTables(found, place)


def check_format(format: str, table: int | None) -> None:
    """Refuse an unknown format or table, and CSV of all tables."""
    if format not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    if table not in (None, *NUMBERS):
        raise OptionError(f"There are tables 1, 2 and 3; got {table}.")
    if format == "csv" and table is None:
        raise OptionError("CSV holds one table: choose it with --table, or write all with --out.")
