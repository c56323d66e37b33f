"""The numbers of a test bed for other programs: CSV and JSON, and correlations as a table."""

import gzip
import json
from collections.abc import Sequence
from dataclasses import asdict, astuple, fields

from rich import box
from rich.table import Table
from rich.text import Text

from mixmood.core.files import csv_text
from mixmood.report.testbed.choices import VARIANT
from mixmood.report.testbed.sheets import to_csv
from mixmood.report.text import printable
from mixmood.testbed.analysis.correlate import Agreement
from mixmood.testbed.record import MeasuredDistance, RunRecord


def records_csv_gz(records: Sequence[RunRecord]) -> bytes:
    """Gzipped CSV with one row for each run; the same records give the same bytes.

    Accuracies by epoch are one column, separated by spaces.
    """
    rows = [flat(record) for record in records]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    whole = [{key: row.get(key) for key in columns} for row in rows]
    return gzip.compress(to_csv(whole).encode(), mtime=0)


def flat(record: RunRecord) -> dict[str, object]:
    """The numbers of a run, one level deep."""
    row: dict[str, object] = {"key": record.key, **record.run.to_dict()}
    row |= {f"accuracy_{name}": value for name, value in record.accuracy.to_dict().items()}
    for measure, found in (record.distances or {}).items():
        names = MeasuredDistance.model_fields
        row |= {f"{measure}_{name}": _short(getattr(found, name)) for name in names}
    row |= _outlook(record)
    for arm, tested in (record.arms or {}).items():
        row |= {f"arm_{arm}_{name}": value for name, value in tested.to_dict().items()}
    by_epoch = record.training.arms if record.training and record.training.arms else {}
    for arm, values in by_epoch.items():
        row[f"arm_{arm}_by_epoch"] = " ".join(f"{value:.4f}" for value in values)
    epochs = record.epochs
    row["accuracy_by_epoch"] = " ".join(f"{epoch.test_accuracy:.4f}" for epoch in epochs)
    shares = epochs[-1].pseudo_label_shares if epochs else None
    row["last_guesses"] = " ".join(f"{share:.3f}" for share in shares or ())
    row["classes"] = " ".join(record.classes)
    if record.view is not None:
        row["view"] = record.view
    row |= {"data": record.data, "mixmood": record.mixmood}
    row |= {f"version_{name}": value for name, value in record.versions.items()}
    return row | {name: round(value, 3) for name, value in record.times.items()}


def _outlook(record: RunRecord) -> dict[str, object]:
    """Useful share and probe, and the accuracies of both halves of the test images."""
    row: dict[str, object] = {}
    parts = {"share": record.useful_share, "probe": record.probe}
    for part, found in parts.items():
        for name in () if found is None else type(found).model_fields:
            value = getattr(found, name)
            key = part if name == part else f"{part}_{name}"
            row[key] = list(map(_short, value)) if name == "interval" else _short(value)
    if record.test_halves is not None:
        row |= {f"accuracy_half_{k}": value for k, value in enumerate(record.test_halves, 1)}
    return row


def _short(value: object) -> object:
    """A number rounded to six digits: more digits are noise, and make the file larger."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def agreement_view(rows: Sequence[Agreement], is_plain: bool = False) -> Table:
    """One line for each row; how it was trained only where rows differ in it."""
    variant = [column for column in VARIANT if len({getattr(row, column) for row in rows}) > 1]
    cells = {
        "task": [row.task for row in rows],
        **{column: [str(getattr(row, column) or "-") for row in rows] for column in variant},
        "labels": [str(row.n_labelled) for row in rows],
        "measure": [row.measure for row in rows],
        "Pearson": [_number(row.pearson) for row in rows],
        "Spearman": [_number(row.spearman) for row in rows],
        "regret (points)": [f"{row.regret_points:.1f}" for row in rows],
        "cells": [str(row.n_cells) for row in rows],
    }
    table = Table(box=None if is_plain else box.SIMPLE_HEAD, pad_edge=False)
    for head in cells:
        is_word = head in ("task", *variant, "measure")
        table.add_column(head, justify="left" if is_word else "right")
    for line in zip(*cells.values(), strict=True):
        # Not plain strings, in which rich would read brackets as markup.
        table.add_row(*(Text(printable(cell)) for cell in line))
    return table


def agreement_json(rows: Sequence[Agreement]) -> str:
    """The rows under the key `rows`."""
    return json.dumps({"schema": 1, "rows": [asdict(row) for row in rows]}, indent=2) + "\n"


def agreement_csv(rows: Sequence[Agreement]) -> str:
    """One row for each task, number of labels, measure and way of training."""
    return csv_text([one.name for one in fields(Agreement)], map(list, map(astuple, rows)))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
