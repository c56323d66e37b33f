"""`mixmood testbed tables` and `correlate`: tables from the records of a store."""

from typing import TYPE_CHECKING, Annotated

import typer

from mixmood.cli.terminal.plan_command import takes
from mixmood.cli.terminal.streams import put, readable, say
from mixmood.testbed.plan import TablesPlan

if TYPE_CHECKING:
    from mixmood.api.tables import TestbedTables

StoreOption = Annotated[
    str, typer.Option("--store", metavar="DIR", help="The folder of the records.")
]


@takes(TablesPlan)
def tables(
    store: StoreOption,
    plan: TablesPlan,
    format: Annotated[
        str, typer.Option("--format", help="text, markdown, latex, csv (with --table) or json.")
    ] = "text",
    table: Annotated[int | None, typer.Option(help="1, 2 or 3.", show_default="all")] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Write all tables (Markdown, CSV, JSON), figures and records into a folder.",
        ),
    ] = None,
) -> None:
    """Print the paper's three tables from the records of a store.

    Table 1 marks the best of each column (*), Table 2 distances that are not significant (~).

    Example: mixmood testbed tables --store smoke --format markdown --selection best
    """
    from mixmood.api.tables import check_format, tables_planned

    check_format(format, 1 if table is None and out is not None else table)
    found = tables_planned(store, plan)
    if out is None:
        _show(found, format, table)
        return
    found.write(out)
    say(f"Tables, figures and records are in {out}.")
    _say_gaps(found)


@takes(TablesPlan)
def correlate(
    store: StoreOption,
    plan: TablesPlan,
    format: Annotated[
        str, typer.Option("--format", help="text, markdown, latex, csv or json.")
    ] = "text",
) -> None:
    """Correlate distances with accuracies over any of the cells.

    Example: mixmood testbed correlate --store smoke --only percent=100
    """
    from mixmood.api.tables import check_format, tables_planned

    check_format(format, 3)
    _show(tables_planned(store, plan, is_correlated=True), format, 3)


def _show(found: "TestbedTables", format: str, table: int | None) -> None:
    text = found.to_text(format, table)
    put("-", text if format in ("csv", "json") else readable(text))
    _say_gaps(found)


def _say_gaps(found: "TestbedTables") -> None:
    if gaps := found.tables.gaps.describe():
        say(gaps)
