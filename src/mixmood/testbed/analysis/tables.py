"""The paper's three tables, computed from records."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from mixmood.core.errors import InputError
from mixmood.testbed.analysis.published import paper_accuracy, paper_correlation, paper_distance
from mixmood.testbed.analysis.statistics.agreement import AgreementRow, agreement_rows
from mixmood.testbed.analysis.statistics.line import GroupLine, fitted_lines
from mixmood.testbed.analysis.summary import (
    AccuracyRow,
    DistanceRow,
    Gaps,
    accuracy_rows,
    chosen_records,
    distance_rows,
    gaps,
)
from mixmood.testbed.grid.cells import CellFilter
from mixmood.testbed.runs.record import Choice, RunRecord
from mixmood.testbed.runs.store import Store


@dataclass(frozen=True)
class Tables:
    """All numbers of the three tables. Table 3 is empty if too few cells can be correlated."""

    choice: Choice
    n_seeds: int
    accuracies: list[AccuracyRow]
    distances: list[DistanceRow]
    agreements: list[AgreementRow]
    lines: list[GroupLine]
    gaps: Gaps
    has_paper: bool = False
    """Whether the rows have the paper's numbers beside their own."""

    def to_dict(self) -> dict[str, object]:
        """The tables in plain values."""
        return {
            "selection": self.choice,
            "gaps": asdict(self.gaps),
            "table1": self.plain(self.accuracies),
            "table2": self.plain(self.distances),
            "table3": self.plain(self.agreements),
        }

    def plain(
        self, rows: Sequence[AccuracyRow] | Sequence[DistanceRow] | Sequence[AgreementRow]
    ) -> list[dict[str, Any]]:
        """Rows in plain values; without the paper's numbers if they were not requested."""
        hidden = set() if self.has_paper else {"paper"}
        return [{k: v for k, v in asdict(row).items() if k not in hidden} for row in rows]


def make_tables(
    store: Store,
    choice: Choice,
    only: CellFilter | None = None,
    records: Sequence[RunRecord] | None = None,
    beside_paper: bool = False,
) -> Tables:
    """The tables of a store, or of some of its cells; `records` are those runs, if read before."""
    records = chosen_records(store, only) if records is None else records
    try:
        agreements = agreement_rows(records, choice)
    except InputError:
        agreements = []
    made = Tables(
        choice,
        store.config.grid.seeds,
        accuracy_rows(records, choice),
        distance_rows(records),
        agreements,
        fitted_lines(records, choice),
        gaps(store, only),
    )
    return _with_paper(made) if beside_paper else made


def _with_paper(tables: Tables) -> Tables:
    return replace(
        tables,
        accuracies=[replace(row, paper=paper_accuracy(row)) for row in tables.accuracies],
        distances=[replace(r, paper=paper_distance(r, r.measure)) for r in tables.distances],
        agreements=[
            replace(row, paper=paper_correlation(row, row.measure)) for row in tables.agreements
        ],
        has_paper=True,
    )
