"""Records -> numbers: accuracies and distances of every cell, and what is missing."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal, get_args

import numpy as np

from mixmood.core.errors import InputError
from mixmood.core.suggest import unknown_name
from mixmood.testbed.grid import Cell, Run, Selection, cells
from mixmood.testbed.store import Record, Store

Choice = Literal["last", "median", "validation", "best"]
"""Which epoch's accuracy counts: the last; the median of the last five; the best on validation
images; the best on the test images, as in the paper, which flatters."""

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class AccuracyRow:
    """Accuracy of one cell: mean and standard deviation over its runs."""

    task: str
    source: str
    percent: float
    n_labelled: int
    algorithm: str
    contamination: str
    accuracy_mean: float
    accuracy_spread: float | None
    n_runs: int

    @property
    def cell(self) -> Cell:
        """The cell that this row is of."""
        return Cell(*(getattr(self, field.name) for field in fields(Cell)))


@dataclass(frozen=True)
class DistanceRow:
    """Distance of one cell by one measure: mean and standard deviation over its runs.

    `p_median` is the median over the runs of the permutation p-value.
    """

    task: str
    source: str
    percent: float
    n_labelled: int
    algorithm: str
    contamination: str
    measure: str
    distance_mean: float
    distance_spread: float | None
    p_median: float
    n_runs: int

    @property
    def cell(self) -> Cell:
        """The cell that this row is of."""
        return Cell(*(getattr(self, field.name) for field in fields(Cell)))

    @property
    def is_significant(self) -> bool:
        """Whether at least half of the runs can tell the pool from the labelled images."""
        return self.p_median < SIGNIFICANT


@dataclass(frozen=True)
class Gaps:
    """Runs that the grid asks for and the store does not have."""

    n_wanted: int
    n_missing: int
    n_failed: int
    empty_cells: tuple[Cell, ...]

    def told(self) -> str:
        """The gaps in one sentence; empty if there are none."""
        if not self.n_missing:
            return ""
        text = f"Incomplete: {self.n_missing} of {self.n_wanted} runs are missing"
        if self.n_failed:
            text += f", {self.n_failed} of them failed"
        if self.empty_cells:
            text += f"; {len(self.empty_cells)} cells have no run at all"
        return text + "."


def chosen_records(store: Store, only: Selection | None = None) -> list[Record]:
    """The finished runs of a store, of some cells, in the order of the grid."""
    records = [
        record
        for record in store.records()
        if only is None or only.takes(Run.from_dict(record["run"]).cell)
    ]
    if not records:
        raise InputError(
            f"The store {store.folder} has no finished runs of the cells asked for. "
            "Run the test bed first, or select less strictly."
        )
    order = {cell: place for place, cell in enumerate(_wanted_cells(store))}
    return sorted(records, key=lambda r: (order.get(_cell(r), len(order)), r["run"]["seed"]))


def accuracy_of(record: Record, choice: Choice) -> float:
    """The accuracy of a run by one choice of epoch."""
    if choice not in get_args(Choice):
        raise unknown_name("selection", choice, get_args(Choice))
    value = record["accuracy"][choice]
    if value is None:
        raise InputError(
            "The runs had no validation images to select an epoch by. Use another selection."
        )
    return float(value)


def accuracy_rows(records: Sequence[Record], choice: Choice) -> list[AccuracyRow]:
    """One row for each cell that has runs."""
    values: dict[Cell, list[float]] = defaultdict(list)
    for record in records:
        values[_cell(record)].append(accuracy_of(record, choice))
    return [
        AccuracyRow(**vars(cell), accuracy_mean=mean, accuracy_spread=spread, n_runs=len(found))
        for cell, found in values.items()
        for mean, spread in [_mean_and_spread(found)]
    ]


def distance_rows(records: Sequence[Record]) -> list[DistanceRow]:
    """One row for each cell and measure that has runs."""
    values: dict[tuple[Cell, str], list[tuple[float, float]]] = defaultdict(list)
    for record in records:
        for measure, found in (record["distances"] or {}).items():
            pair = (found["distance"], found["p_permutation"])
            values[_cell(record), measure].append(pair)
    return [
        DistanceRow(
            **vars(cell),
            measure=measure,
            distance_mean=mean,
            distance_spread=spread,
            p_median=float(np.median([p for _, p in found])),
            n_runs=len(found),
        )
        for (cell, measure), found in values.items()
        for mean, spread in [_mean_and_spread([distance for distance, _ in found])]
    ]


def gaps(store: Store, only: Selection | None = None) -> Gaps:
    """What the store's own grid asks for and does not find."""
    wanted = [cell for cell in _wanted_cells(store) if only is None or only.takes(cell)]
    n_seeds = store.config.grid.seeds
    found: dict[Cell, set[int]] = defaultdict(set)
    for record in store.records():
        found[_cell(record)].add(record["run"]["seed"])
    failed = [r for r in store.records(failed=True) if only is None or only.takes(_cell(r))]
    missing = sum(n_seeds - len(found[cell] & set(range(n_seeds))) for cell in wanted)
    empty = tuple(cell for cell in wanted if not found[cell])
    return Gaps(len(wanted) * n_seeds, missing, len(failed), empty)


def _wanted_cells(store: Store) -> list[Cell]:
    return cells(store.config)


def _cell(record: Record) -> Cell:
    return Run.from_dict(record["run"]).cell


def _mean_and_spread(values: Sequence[float]) -> tuple[float, float | None]:
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return float(np.mean(values)), spread
