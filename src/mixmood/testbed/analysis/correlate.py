"""How well do distances predict accuracies, both given as CSV tables with one row for each cell?"""

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mixmood.core.errors import InputError, errors_as
from mixmood.core.text import listed
from mixmood.testbed.analysis.agreement import pearsons, regrets, spearmans
from mixmood.testbed.analysis.groups import LEAST_CELLS, PoolKey

KEYS = ("task", "n_labelled", "measure", "algorithm", "contamination", "regime", "n_unlabelled")


@dataclass(frozen=True, kw_only=True)
class CellMean:
    """A row of a table of accuracies (0 to 1) or of distances; None fits every value."""

    task: str
    pool: PoolKey
    mean: float
    n_labelled: int | None = None
    measure: str | None = None
    algorithm: str | None = None
    contamination: str | None = None
    regime: str | None = None
    n_unlabelled: int | None = None
    view: str | None = None  # the views of its runs, separated by semicolons


@dataclass(frozen=True)
class Agreement:
    """How well one measure predicts accuracy in one task; None where the tables do not say."""

    task: str
    n_labelled: int
    measure: str
    pearson: float | None  # over all cells, None if undefined; outliers (noise) can dominate it
    spearman: float | None  # correlation of the ranks over all cells, None if undefined
    regret_points: float  # lost with the nearest source, not the best, at the highest percentage
    n_cells: int
    algorithm: str | None = None
    contamination: str | None = None
    regime: str | None = None
    n_unlabelled: int | None = None


def agreements(accuracies: Iterable[CellMean], distances: Iterable[CellMean]) -> list[Agreement]:
    """One row for each task, number of labels, way of training and measure.

    Cells without contamination, and cells that only one table has, are left out. InputError if the
    cells of a row have no view in common.
    """
    distance_of, rows = _by_key(distances), []
    for key, accuracy in _by_key(accuracies).items():
        for other_key, distance in distance_of.items():
            pairs = list(zip(key, other_key, strict=True))
            if not all(None in pair or pair[0] == pair[1] for pair in pairs):
                continue
            cells = sorted(accuracy.keys() & distance.keys())
            if len(cells) < LEAST_CELLS:
                continue
            seen = [by_pool[cell].view for by_pool in (accuracy, distance) for cell in cells]
            # Rows that name no view fit every view.
            views = list(dict.fromkeys(view for view in seen if view))
            if views and not set.intersection(*(set(view.split("; ")) for view in views)):
                task = accuracy[cells[0]].task
                raise InputError(
                    f"{task} was measured in different views: {listed(views)}. Accuracies and "
                    "distances can be compared in the same view only: make both tables from one "
                    "store."
                )
            x, y = (np.array([[by[cell].mean for cell in cells]]) for by in (distance, accuracy))
            pearson, spearman = (float(statistic(x, y)[0]) for statistic in (pearsons, spearmans))
            highest = max(percent for _, percent in cells)
            is_last = np.array([percent == highest for _, percent in cells])
            values = [own if own is not None else other for own, other in pairs]
            row = Agreement(
                **dict(zip(KEYS, values, strict=True)),
                pearson=None if math.isnan(pearson) else pearson,
                spearman=None if math.isnan(spearman) else spearman,
                regret_points=float(regrets(x[:, is_last], y[:, is_last])[0]),
                n_cells=len(cells),
            )
            rows.append(row)
    if not rows:
        raise InputError(
            f"The two tables share no task with at least {LEAST_CELLS} contaminated cells (source "
            "and percentage). Are they from the same test bed?"
        )
    return rows


def _by_key(rows: Iterable[CellMean]) -> dict[tuple[Any, ...], dict[PoolKey, CellMean]]:
    """The contaminated cells of each key; a cell that is in the table twice is refused."""
    found: dict[tuple[Any, ...], dict[PoolKey, CellMean]] = defaultdict(dict)
    for row in rows:
        source, percent = row.pool
        cells = found[tuple(getattr(row, name) for name in KEYS)]
        if row.pool in cells:
            raise InputError(
                f"{row.task}, {source} {percent:g} % is in the table twice with nothing to "
                "tell the rows apart. Give the columns n_labelled, algorithm, contamination, "
                "regime or n_unlabelled, or keep one of the rows."
            )
        if percent > 0:
            cells[row.pool] = row
    return found


ACCURACY_COLUMNS = ("task", "ood_source", "ood_percent", "n_labelled", "accuracy_mean")
DISTANCE_COLUMNS = ("task", "ood_source", "ood_percent", "measure", "distance_mean")


def read_accuracies(path: str | Path) -> list[CellMean]:
    """The rows of a table of accuracies that have a percentage; supervised baselines have none."""
    rows = []
    for where, cell in _cells(path, ACCURACY_COLUMNS):
        if not 0 <= cell.mean <= 1:
            # The regret of percentages would be a hundred times too high.
            raise InputError(
                f"{where}: accuracy_mean must be between 0 and 1; got {cell.mean:g}. Divide "
                "percentages by 100."
            )
        rows.append(cell)
    return rows


def read_distances(path: str | Path) -> list[CellMean]:
    """The rows of a table of distances that have a percentage."""
    return [cell for _, cell in _cells(path, DISTANCE_COLUMNS)]


def _cells(path: str | Path, columns: tuple[str, ...]) -> Iterator[tuple[str, CellMean]]:
    """Every row of a table with its file and line; the last of the columns has its mean."""
    start = f"Cannot read {path} as a CSV table in UTF-8"
    with errors_as(InputError, start), Path(path).open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file, restval="")
        missing = [column for column in columns if column not in (reader.fieldnames or [])]
        if missing:
            raise InputError(
                f"{path} must have the columns {', '.join(columns)}; it lacks "
                f"{', '.join(missing)}. Accuracies come first, distances second."
            )
        for row in reader:
            if not row["ood_percent"].strip():
                continue
            where = f"{path}, line {reader.line_num}"
            mean, percent = _number(row, columns[-1], where), _number(row, "ood_percent", where)
            fields: dict[str, Any] = {name: row.get(name) or None for name in (*KEYS[2:6], "view")}
            for name in ("n_labelled", "n_unlabelled"):
                fields[name] = int(_number(row, name, where)) if row.get(name) else None
            pool = (row["ood_source"], percent)
            yield where, CellMean(task=row["task"], pool=pool, mean=mean, **fields)


def _number(row: dict[str, str], column: str, where: str) -> float:
    try:
        value = float(row[column])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{where}: {column} must be a number; got {row[column]!r}.")
    return value
