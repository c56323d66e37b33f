"""How the cells of a test bed are named, marked and filtered."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from mixmood.core.text import counted
from mixmood.report.charts import LABELLED, Mark, mark
from mixmood.report.text import fixed, number, signed, with_spread
from mixmood.testbed.analysis.agreement import OverallRow
from mixmood.testbed.analysis.groups import GAIN, GroupKey
from mixmood.testbed.analysis.tables import AccuracyRow, DistanceRow, OutlookRow, Tables
from mixmood.testbed.cells import SUPERVISED, Cell

TITLES = {
    "task": "Task",
    "n_labelled": "Labels",
    "measure": "Measure",
    "regime": "Regime",
    "algorithm": "Algorithm",
    "contamination": "Contamination",
    "n_unlabelled": "Pool size",
}
VARIANT = ("regime", "algorithm", "contamination", "n_unlabelled")
"""How a cell was trained."""

TableRow = Cell | GroupKey | OverallRow


@dataclass(frozen=True)
class Choices:
    """All values of each key (task, number of labels, ...), in the order of the tables."""

    values: dict[str, list[Any]]

    @classmethod
    def of(cls, tables: Tables, predictors: Sequence[str] = ()) -> "Choices":
        """All choices of the three tables; predictors come after the measures."""
        rows = tables.accuracies
        cells = [row for row in rows if not row.is_supervised] or rows
        return cls(
            {
                "task": _distinct(rows, "task"),
                "n_labelled": sorted(_distinct(rows, "n_labelled")),
                "measure": [*_distinct(tables.distances, "measure"), *predictors],
                "regime": _distinct(rows, "regime"),
                "algorithm": _distinct(cells, "algorithm"),
                "contamination": _distinct(cells, "contamination"),
                "n_unlabelled": _distinct(cells, "n_unlabelled"),
            }
        )

    @property
    def filters(self) -> dict[str, list[Any]]:
        """The keys that have more than one value, with their values."""
        return {key: found for key, found in self.values.items() if len(found) > 1}

    def marks(self, row: TableRow, *, without: str | None = None) -> dict[str, int]:
        """The HTML attributes by which a row is filtered: for every key, the index of its value.

        A key without an attribute matches every choice: a baseline belongs to every algorithm and
        contamination, a pool without contamination to every contamination. `without` names a
        key that is left out.
        """
        free = {without}
        if isinstance(row, Cell) and not row.percent:
            free |= {"contamination"}
            free |= {"algorithm", "n_unlabelled"} if row.is_supervised else set()
        return {
            f"data-{key.replace('_', '-')}": found.index(getattr(row, key))
            for key, found in self.values.items()
            if key not in free and hasattr(row, key)
        }

    def variant(self, row: Cell | GroupKey) -> str:
        """Regime, algorithm, contamination and size of the pool, each only if rows differ in it.

        A baseline has a regime only.
        """
        is_baseline = isinstance(row, Cell) and row.is_supervised
        keys = ("regime",) if is_baseline else VARIANT
        return ", ".join(str(getattr(row, key)) for key in keys if len(self.values[key]) > 1)


def _distinct(rows: Any, key: str) -> list[Any]:
    return list(dict.fromkeys(getattr(row, key) for row in rows))


CLEAN = "no contamination"
SMALLEST = 0.65
"""The size of a mark at the lowest percentage, relative to the one at the highest."""


@dataclass(frozen=True)
class Pools:
    """The sources of a record, in its order, and their percentages."""

    sources: list[str]
    percents: list[float]

    @classmethod
    def of(cls, rows: list[AccuracyRow]) -> "Pools":
        """The sources and percentages of all contaminated rows."""
        found = [row for row in rows if row.percent > 0]
        percents = sorted({row.percent for row in found})
        return cls(list(dict.fromkeys(row.source for row in found)), percents)

    def mark(self, source: str) -> Mark:
        """The mark of a source."""
        return mark(self.sources.index(source))

    def mark_of(self, row: Cell) -> Mark | None:
        """The mark of a row's source; a hollow one without contamination, none if supervised."""
        if row.is_supervised:
            return None
        return self.mark(row.source) if row.percent > 0 else LABELLED

    def size(self, percent: float) -> float:
        """The relative size of a mark, which grows with the contamination."""
        if len(self.percents) < 2 or not percent:
            return 1.0
        place = self.percents.index(percent) / (len(self.percents) - 1)
        return round(SMALLEST + (1 - SMALLEST) * place, 2)


def pool_name(row: Cell) -> str:
    """The name of a row's pool."""
    if row.is_supervised:
        return SUPERVISED[row.algorithm]
    return f"{row.source} {row.percent:g}\u202f%" if row.percent > 0 else CLEAN


Valued = DistanceRow | OutlookRow
Row = TypeVar("Row", bound=AccuracyRow | Valued)


def value_of(row: AccuracyRow | Valued) -> float:
    """The mean over the runs of a cell."""
    if isinstance(row, AccuracyRow):
        return row.accuracy_mean
    return row.distance_mean if isinstance(row, DistanceRow) else row.mean


def value_words(row: AccuracyRow | Valued) -> str:
    """The quantity and its value, for the text beside a point."""
    if isinstance(row, AccuracyRow):
        words = with_spread(row.accuracy_mean, row.accuracy_spread)
        return f"accuracy {words}, {counted(row.n_runs, 'run')}"
    if isinstance(row, DistanceRow):
        weak = "" if row.is_significant else ", not significant"
        return f"{row.measure} {with_spread(row.distance_mean, row.distance_spread, number)}{weak}"
    if row.measure == GAIN:
        return f"{row.measure} {signed(row.mean, 1)} points"
    return f"{row.measure} {fixed(row.mean, 2)}"


def line_key(row: AccuracyRow) -> tuple[object, ...]:
    """The line of Table 1 that a row is in: everything of a cell but its number of labels."""
    way = (row.algorithm, row.contamination, row.regime, row.n_unlabelled)
    return row.task, *way, row.source, row.percent


def pivoted(
    rows: Iterable[Row], line_of: Callable[[Row], object], column: str, values: Sequence[Any]
) -> list[tuple[Row, list[Row | None]]]:
    """A row of each line of a table, and all its cells; None where there is none.

    Args:
        rows: The cells.
        line_of: The line of a cell.
        column: The name of the field that decides the column of a cell.
        values: The values of this field, in the order of the columns.
    """
    lines: dict[object, dict[Any, Row]] = {}
    for row in rows:
        lines.setdefault(line_of(row), {})[getattr(row, column)] = row
    return [(next(iter(own.values())), [own.get(v) for v in values]) for own in lines.values()]


def spread_ends(row: AccuracyRow) -> list[float]:
    """The mean accuracy, and the mean minus and plus one standard deviation, within 0 and 1."""
    mean, spread = row.accuracy_mean, row.accuracy_spread or 0.0
    return [mean, max(mean - spread, 0.0), min(mean + spread, 1.0)]
