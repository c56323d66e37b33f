"""Records -> numbers: accuracies and distances of every cell, and what is missing."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal, get_args

import numpy as np

from mixmood.core.errors import InputError
from mixmood.core.records.ranking import SIGNIFICANT
from mixmood.core.suggest import unknown_name
from mixmood.testbed.grid.cells import Cell, Run, Selection, cells
from mixmood.testbed.runs.store import Record, Store

Choice = Literal["last", "median", "validation", "best"]
"""Which epoch's accuracy counts: the last; the median of the last five; the best on validation
images; the best on the test images, as in the paper, which flatters."""


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
        """Whether the pool can be told from the labelled images, by the median p-value."""
        return self.p_median < SIGNIFICANT


@dataclass(frozen=True)
class Gaps:
    """Runs that the grid asks for and the store does not have, or has with outdated data sets."""

    n_wanted: int
    n_missing: int
    n_failed: int
    empty_cells: tuple[Cell, ...]
    n_outdated: int = 0

    def told(self) -> str:
        """The gaps in a sentence or two; empty if there are none."""
        return " ".join(filter(None, (self._missing(), self._outdated())))

    def _outdated(self) -> str:
        if not self.n_outdated:
            return ""
        return (
            f"Data sets changed while the store was filled: {self.n_outdated} runs with earlier "
            "ones are left out."
        )

    def _missing(self) -> str:
        if not self.n_missing:
            return ""
        text = f"Incomplete: {self.n_missing} of {self.n_wanted} runs are missing"
        if self.n_failed:
            text += f", {self.n_failed} of them failed"
        if self.empty_cells:
            text += f"; {len(self.empty_cells)} cells have no run at all"
        return text + "."


def chosen_records(store: Store, only: Selection | None = None) -> list[Record]:
    """The finished runs of a store, of some cells, in the order of the grid.

    Runs of one task and source with different data are not mixed: those with the data of the run
    that was written last are taken.
    """
    records = _current(store, _taken(store, only))
    if not records:
        raise InputError(
            f"The store {store.folder} has no finished runs of the cells asked for. "
            "Run the test bed first, or select less strictly."
        )
    order = {cell: place for place, cell in enumerate(_wanted_cells(store))}
    return sorted(records, key=lambda r: (order.get(_cell(r), len(order)), r["run"]["seed"]))


def _taken(store: Store, only: Selection | None, failed: bool = False) -> list[Record]:
    return [r for r in store.records(failed) if only is None or only.takes(_cell(r))]


def _current(store: Store, records: Sequence[Record]) -> list[Record]:
    found: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        found[record["run"]["task"], record["run"]["source"]].append(record)
    kept: list[Record] = []
    for own in found.values():
        if len({record["data"] for record in own}) > 1:
            last = max(own, key=lambda record: store.written_at(record["key"]))["data"]
            own = [record for record in own if record["data"] == last]
        kept += own
    return kept


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
    taken = _taken(store, only)
    current = _current(store, taken)
    for record in current:
        found[_cell(record)].add(record["run"]["seed"])
    missing = sum(n_seeds - len(found[cell] & set(range(n_seeds))) for cell in wanted)
    empty = tuple(cell for cell in wanted if not found[cell])
    n_failed = len(_taken(store, only, failed=True))
    return Gaps(len(wanted) * n_seeds, missing, n_failed, empty, len(taken) - len(current))


def _wanted_cells(store: Store) -> list[Cell]:
    return cells(store.config)


def _cell(record: Record) -> Cell:
    return Run.from_dict(record["run"]).cell


def _mean_and_spread(values: Sequence[float]) -> tuple[float, float | None]:
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return float(np.mean(values)), spread
