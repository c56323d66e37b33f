"""Names and marks of the pools of a test bed, the same on the whole page."""

from dataclasses import dataclass

from mixmood.report.charts.marks import LABELLED, Mark, mark
from mixmood.testbed.analysis.summary import AccuracyRow
from mixmood.testbed.grid.cells import SUPERVISED, Cell

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
