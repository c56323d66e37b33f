"""How well do distances predict accuracies, both given as CSV tables with one row for each cell?"""

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from mixmood.core.errors import InputError, reason
from mixmood.testbed.analysis.groups import PoolKey
from mixmood.testbed.analysis.statistics import LEAST_CELLS, correlations, regret_points

Variant = tuple[str | None, str | None, str | None]
"""Algorithm, contamination and regime; None if the table has no such column, which fits all."""
Key = TypeVar("Key", bound=tuple[object, ...])


@dataclass(frozen=True, kw_only=True)
class _TableRow:
    """A row of a table: task, pool, mean, and how it was trained, if the table says so."""

    task: str
    pool: PoolKey
    mean: float
    algorithm: str | None = None
    contamination: str | None = None
    regime: str | None = None

    @property
    def variant(self) -> Variant:
        """How the cell was trained."""
        return self.algorithm, self.contamination, self.regime


@dataclass(frozen=True, kw_only=True)
class CellAccuracy(_TableRow):
    """Mean accuracy of one cell of the test bed, 0 to 1."""

    n_labelled: int


@dataclass(frozen=True, kw_only=True)
class CellDistance(_TableRow):
    """Mean distance of one cell by one measure."""

    measure: str
    n_labelled: int | None = None
    """None stands for every number of labels."""


@dataclass(frozen=True)
class Agreement:
    """How well one measure predicts accuracy in one task.

    Attributes:
        pearson: Linear correlation over all cells, None if undefined; outliers, such as noise, can
            dominate it.
        spearman: Correlation of the ranks over all cells, None if undefined.
        regret_points: Accuracy lost, in points, by training with the nearest source instead of the
            best one, among the sources at the highest percentage.
        n_cells: How many cells were compared.
        algorithm: As in the tables; None if they do not say. The same for contamination and regime.
    """

    task: str
    n_labelled: int
    measure: str
    pearson: float | None
    spearman: float | None
    regret_points: float
    n_cells: int
    algorithm: str | None = None
    contamination: str | None = None
    regime: str | None = None


def agreements(
    accuracies: Iterable[CellAccuracy], distances: Iterable[CellDistance]
) -> list[Agreement]:
    """One row for each task, number of labels, way of training and measure.

    Cells without contamination, and cells that only one table has, are left out.
    """
    accuracy_of = _groups(((row.task, row.n_labelled, row.variant), row) for row in accuracies)
    distance_of = _groups(
        ((row.task, row.n_labelled, row.variant, row.measure), row) for row in distances
    )
    rows = [
        _agreement(task, n_labelled, _joined(variant, other), measure, accuracy, distance)
        for (task, n_labelled, variant), accuracy in accuracy_of.items()
        for (other_task, other_n, other, measure), distance in distance_of.items()
        if task == other_task
        and other_n in (None, n_labelled)
        and _fits(variant, other)
        and len(accuracy.keys() & distance.keys()) >= LEAST_CELLS
    ]
    if not rows:
        raise InputError(
            f"The two tables share no task with at least {LEAST_CELLS} contaminated cells (source "
            "and percentage). Are they from the same test bed?"
        )
    return rows


def _groups(
    rows: Iterable[tuple[Key, CellAccuracy | CellDistance]],
) -> dict[Key, dict[PoolKey, float]]:
    """The contaminated cells of each key; a cell that is in the table twice is refused."""
    found: dict[Key, dict[PoolKey, float]] = defaultdict(dict)
    for key, row in rows:
        source, percent = row.pool
        if row.pool in found[key]:
            raise InputError(
                f"{row.task}, {source} {percent:g} % is in the table twice with nothing to "
                "tell the rows apart. Give the columns n_labelled, algorithm, contamination or "
                "regime, or keep one of the rows."
            )
        if percent > 0:
            found[key][row.pool] = row.mean
    return found


def _fits(variant: Variant, other: Variant) -> bool:
    return all(None in pair or pair[0] == pair[1] for pair in zip(variant, other, strict=True))


def _joined(variant: Variant, other: Variant) -> Variant:
    return variant[0] or other[0], variant[1] or other[1], variant[2] or other[2]


def _agreement(
    task: str,
    n_labelled: int,
    variant: Variant,
    measure: str,
    accuracy: Mapping[PoolKey, float],
    distance: Mapping[PoolKey, float],
) -> Agreement:
    cells = sorted(accuracy.keys() & distance.keys())
    y, x = np.array([accuracy[c] for c in cells]), np.array([distance[c] for c in cells])
    pearson, spearman = correlations(x, y)
    highest = max(percent for _, percent in cells)
    finalists = np.array([percent == highest for _, percent in cells])
    algorithm, contamination, regime = variant
    return Agreement(
        task=task,
        n_labelled=n_labelled,
        measure=measure,
        pearson=pearson,
        spearman=spearman,
        regret_points=regret_points(x[finalists], y[finalists]),
        n_cells=len(cells),
        algorithm=algorithm,
        contamination=contamination,
        regime=regime,
    )


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
