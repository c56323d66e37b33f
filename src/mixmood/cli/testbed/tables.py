"""`mixmood testbed tables` and `correlate`: tables from the records of a store."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mixmood.cli.terminal.streams import put, readable, say
from mixmood.core.errors import OptionError
from mixmood.core.files.atomic import write_atomic
from mixmood.core.files.places import make_folder
from mixmood.core.suggest import unknown_name

if TYPE_CHECKING:
    from mixmood.testbed.analysis.tables import Tables

StoreOption = Annotated[
    str, typer.Option("--store", metavar="DIR", help="The folder of the records.")
]
Only = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE,...", help="Only these cells: task=mnist,n_labelled=60."),
]
Format = Annotated[
    str, typer.Option("--format", help="text, markdown, latex, csv (with --table) or json.")
]
Choose = Annotated[
    str,
    typer.Option(
        "--selection", help="Which epoch counts: last, median, validation, or best as the paper."
    ),
]
Beside = Annotated[
    bool, typer.Option("--beside-paper", help="Add the paper's values and the differences.")
]

FORMATS = ("text", "markdown", "latex", "csv", "json")


def tables(
    store: StoreOption,
    format: Format = "text",
    table: Annotated[int | None, typer.Option(help="1, 2 or 3.", show_default="all")] = None,
    selection: Choose = "last",
    beside_paper: Beside = False,
    only: Only = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Write all tables (Markdown, CSV, JSON), figures and records into a folder.",
        ),
    ] = None,
) -> None:
    """Print the paper's three tables from the records of a store.

    Table 1 marks the best of each column (*), Table 2 what is not significant (~).

    Example: mixmood testbed tables --store smoke --format markdown --selection best
    """
    from mixmood.testbed.analysis.tables import make_tables
    from mixmood.testbed.grid.cells import CellFilter
    from mixmood.testbed.runs.store import Store

    if format not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    if table not in (None, 1, 2, 3):
        raise OptionError(f"There are tables 1, 2 and 3; got {table}.")
    if format == "csv" and table is None and out is None:
        raise OptionError("CSV holds one table: choose it with --table, or write all with --out.")
    place = Store(store)
    wanted = CellFilter.parse(only or [])
    found = make_tables(place, selection, wanted, beside_paper=beside_paper)  # type: ignore[arg-type]
    if out is not None:
        _write_all(place, found, Path(out))
    else:
        put("-", _rendered(found, format, [table] if table else [1, 2, 3]))
    if gaps := found.gaps.describe():
        say(gaps)


def correlate(
    store: StoreOption,
    format: Annotated[
        str, typer.Option("--format", help="text, markdown, latex, csv or json.")
    ] = "text",
    selection: Choose = "last",
    beside_paper: Beside = False,
    only: Only = None,
) -> None:
    """Correlate distances with accuracies over any of the cells.

    Example: mixmood testbed correlate --store smoke --only percent=100
    """
    from mixmood.testbed.analysis.statistics.agreement import agreement_rows
    from mixmood.testbed.analysis.summary import chosen_records
    from mixmood.testbed.analysis.tables import make_tables
    from mixmood.testbed.grid.cells import CellFilter
    from mixmood.testbed.runs.store import Store

    if format not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    place, wanted = Store(store), CellFilter.parse(only or [])
    # For its message: without cells to correlate the table would only be empty.
    agreement_rows(chosen_records(place, wanted), selection)  # type: ignore[arg-type]
    found = make_tables(place, selection, wanted, beside_paper=beside_paper)  # type: ignore[arg-type]
    put("-", _rendered(found, format, [3]))
    if gaps := found.gaps.describe():
        say(gaps)


def _rendered(found: "Tables", form: str, numbers: list[int]) -> str:
    from mixmood.report.testbed.sheet import render_sheet, to_csv
    from mixmood.report.testbed.sheets import SHEETS

    content: Any = found.to_dict()
    if form == "csv":
        return to_csv(content[f"table{numbers[0]}"])
    if form == "json":
        hidden = {f"table{n}" for n in (1, 2, 3) if n not in numbers}
        shown = {key: value for key, value in content.items() if key not in hidden}
        return json.dumps(shown, indent=1, allow_nan=False) + "\n"
    return readable("\n".join(render_sheet(SHEETS[n](found), form) for n in numbers))


def _write_all(store: Any, found: "Tables", folder: Path) -> None:
    from mixmood.report.testbed.export import records_csv_gz
    from mixmood.report.testbed.figures import figures
    from mixmood.testbed.analysis.summary import chosen_records

    make_folder(folder)
    for number in (1, 2, 3):
        write_atomic(folder / f"table{number}.md", _rendered(found, "markdown", [number]))
        write_atomic(folder / f"table{number}.csv", _rendered(found, "csv", [number]))
    write_atomic(folder / "tables.json", _rendered(found, "json", [1, 2, 3]))
    write_atomic(folder / "records.csv.gz", records_csv_gz(chosen_records(store)))
    for name, content in figures(found).items():
        write_atomic(folder / name, content)
    say(f"Tables, figures and records are in {folder}.")
