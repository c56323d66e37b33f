"""Correlation and regret as table, CSV and JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict, fields

from rich import box
from rich.table import Table
from rich.text import Text

from mixmood.core.files.spreadsheet import csv_text
from mixmood.report.charts.printable import printable
from mixmood.report.testbed.choices import VARIANT
from mixmood.testbed.analysis.statistics.correlation import Agreement

COLUMNS = [field.name for field in fields(Agreement)]


def agreement_view(rows: Sequence[Agreement], is_plain: bool = False) -> Table:
    """One line for each row; regime, algorithm and contamination only where rows differ in them."""
    table = Table(box=None if is_plain else box.SIMPLE_HEAD, pad_edge=False)
    variant = [column for column in VARIANT if len({getattr(row, column) for row in rows}) > 1]
    words = ("task", *variant, "measure")
    for column in ("task", *variant, "labels", "measure"):
        table.add_column(column, justify="left" if column in words else "right")
    for column in ("Pearson", "Spearman", "regret (points)", "cells"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(
            _word(row.task),
            *(_word(getattr(row, column) or "-") for column in variant),
            str(row.n_labelled),
            _word(row.measure),
            _number(row.pearson),
            _number(row.spearman),
            f"{row.regret_points:.1f}",
            str(row.n_cells),
        )
    return table


def agreement_json(rows: Sequence[Agreement]) -> str:
    """The rows under the key `rows`."""
    return json.dumps({"schema": 1, "rows": [asdict(row) for row in rows]}, indent=2) + "\n"


def agreement_csv(rows: Sequence[Agreement]) -> str:
    """One row for each task, number of labels, measure, regime, algorithm and contamination."""
    return csv_text(COLUMNS, (list(asdict(row).values()) for row in rows))


def _word(text: str) -> Text:
    """A cell of text; in a plain string, rich would read brackets as markup."""
    return Text(printable(text))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
