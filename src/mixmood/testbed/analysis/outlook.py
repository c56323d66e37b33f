"""Useful share and probe of every cell, from its records."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from mixmood.testbed.analysis.statistics.predictors import PREDICTORS
from mixmood.testbed.analysis.summary import mean_and_spread
from mixmood.testbed.grid.cells import Cell
from mixmood.testbed.runs.record import RunRecord


@dataclass(frozen=True, kw_only=True)
class OutlookRow(Cell):
    """One of PREDICTORS for one cell: mean and standard deviation over the runs that have it."""

    measure: str
    mean: float
    spread: float | None
    n_runs: int


def outlook_rows(records: Sequence[RunRecord]) -> list[OutlookRow]:
    """One row for each cell and predictor that has runs."""
    values: dict[tuple[Cell, str], list[float]] = defaultdict(list)
    for record in records:
        for name, read in PREDICTORS.items():
            if (value := read(record)) is not None:
                values[record.cell, name].append(value)
    return [
        OutlookRow(**vars(cell), measure=name, mean=mean, spread=spread, n_runs=len(found))
        for (cell, name), found in values.items()
        for mean, spread in [mean_and_spread(found)]
    ]
