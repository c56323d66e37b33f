"""The values in which the cells of a test bed differ; its page can be filtered by them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mixmood.testbed.analysis.statistics.groups import GroupKey
from mixmood.testbed.analysis.statistics.overall import OverallRow
from mixmood.testbed.analysis.tables import Tables
from mixmood.testbed.grid.cells import Cell

TITLES = {
    "task": "Task",
    "n_labelled": "Labels",
    "measure": "Measure",
    "regime": "Regime",
    "algorithm": "Algorithm",
    "contamination": "Contamination",
}
VARIANT = ("regime", "algorithm", "contamination")
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
            free |= {"contamination", "algorithm"} if row.is_supervised else {"contamination"}
        return {
            f"data-{key.replace('_', '-')}": found.index(getattr(row, key))
            for key, found in self.values.items()
            if key not in free and hasattr(row, key)
        }

    def variant(self, row: Cell | GroupKey) -> str:
        """Regime, algorithm and contamination of a row, each only if rows differ in it.

        A baseline has a regime only.
        """
        is_baseline = isinstance(row, Cell) and row.is_supervised
        keys = ("regime",) if is_baseline else VARIANT
        return ", ".join(str(getattr(row, key)) for key in keys if len(self.values[key]) > 1)


def _distinct(rows: Any, key: str) -> list[Any]:
    return list(dict.fromkeys(getattr(row, key) for row in rows))
