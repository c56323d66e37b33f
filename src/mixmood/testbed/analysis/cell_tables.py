"""Reading CSV tables of accuracies and distances, with one row for each cell."""

import csv
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mixmood.core.errors import InputError, reason
from mixmood.testbed.analysis.statistics.correlation import CellAccuracy, CellDistance

ACCURACY_COLUMNS = ("task", "ood_source", "ood_percent", "n_labelled", "accuracy_mean")
DISTANCE_COLUMNS = ("task", "ood_source", "ood_percent", "measure", "distance_mean")
OPTIONAL = ("algorithm", "contamination", "regime")
"""Columns that the paper's tables do not have; n_labelled of distances is optional too."""


def read_accuracies(path: str | Path) -> list[CellAccuracy]:
    """The rows of a table of accuracies that have a percentage; supervised baselines have none."""
    return [
        CellAccuracy(
            **_checked_share(_common(row, "accuracy_mean", where), where),
            n_labelled=int(_number(row, "n_labelled", where)),
        )
        for where, row in _rows(path, ACCURACY_COLUMNS)
    ]


def read_distances(path: str | Path) -> list[CellDistance]:
    """The rows of a table of distances that have a percentage."""
    return [
        CellDistance(
            **_common(row, "distance_mean", where),
            measure=row["measure"],
            n_labelled=int(_number(row, "n_labelled", where)) if row.get("n_labelled") else None,
        )
        for where, row in _rows(path, DISTANCE_COLUMNS)
    ]


def _common(row: dict[str, str], value: str, where: str) -> dict[str, Any]:
    return {
        "task": row["task"],
        "pool": (row["ood_source"], _number(row, "ood_percent", where)),
        "mean": _number(row, value, where),
        **{column: row.get(column) or None for column in OPTIONAL},
    }


def _checked_share(cell: dict[str, Any], where: str) -> dict[str, Any]:
    """The same values; percentages are refused: their regret would be a hundred times too high."""
    if not 0 <= cell["mean"] <= 1:
        raise InputError(
            f"{where}: accuracy_mean must be between 0 and 1; got {cell['mean']:g}. Divide "
            "percentages by 100."
        )
    return cell


def _rows(path: str | Path, columns: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """Every row of a table with its file and line; the columns are checked first."""
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, restval="")
            _check_columns(path, reader.fieldnames or [], columns)
            for row in reader:
                if row["ood_percent"].strip():
                    yield f"{path}, line {reader.line_num}", row
    except OSError as error:
        raise InputError(f"Cannot read {path}: {reason(error)}.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} is not a CSV table in UTF-8: {error}.") from error


def _check_columns(path: str | Path, found: Sequence[str], columns: tuple[str, ...]) -> None:
    missing = [column for column in columns if column not in found]
    if missing:
        raise InputError(
            f"{path} must have the columns {', '.join(columns)}; it lacks {', '.join(missing)}. "
            "Accuracies come first, distances second."
        )


def _number(row: dict[str, str], column: str, where: str) -> float:
    try:
        value = float(row[column])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{where}: {column} must be a number; got {row[column]!r}.")
    return value
