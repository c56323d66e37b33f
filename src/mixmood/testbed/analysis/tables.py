"""The paper's three tables, computed from records, and which runs are missing."""

import csv
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import product
from operator import attrgetter
from typing import Any

import numpy as np

from mixmood.core.errors import InputError
from mixmood.core.records.ranking import SIGNIFICANT
from mixmood.core.text import counted, either_form
from mixmood.ssl.record import Arm
from mixmood.testbed.analysis.agreement import (
    ARMS,
    EPOCHS,
    AgreementRow,
    ArmAgreementRow,
    EpochChoice,
    agreement_rows,
    arm_agreement_rows,
)
from mixmood.testbed.analysis.groups import GroupKey, GroupLine, fitted_lines, grouped, values_of
from mixmood.testbed.cells import EVERY_CELL, Cell, CellFilter, cells
from mixmood.testbed.plan import Choice
from mixmood.testbed.record import RunRecord
from mixmood.testbed.store import Store


@dataclass(frozen=True, kw_only=True)
class AccuracyRow(Cell):
    """Accuracy of one cell: mean and standard deviation over its runs."""

    accuracy_mean: float
    accuracy_spread: float | None
    n_runs: int
    view: str | None = None  # the views of the runs; None for networks
    is_best: bool = False  # among the cells of the same task, number of labels and regime
    paper: float | None = None  # the paper's number, if it was requested and exists; also below


@dataclass(frozen=True, kw_only=True)
class DistanceRow(Cell):
    """Distance of one cell by one measure: mean and standard deviation over its runs."""

    measure: str
    distance_mean: float
    distance_spread: float | None
    p_median: float  # median over the runs of the permutation p-value
    n_runs: int
    view: str | None = None
    is_significant: bool  # whether the median p-value says that pool and labelled images differ
    paper: float | None = None


@dataclass(frozen=True, kw_only=True)
class ArmRow(Cell):
    """Accuracy of a cell in one arm; its difference from arm A, in points, is paired over runs."""

    arm: Arm
    epoch: EpochChoice
    accuracy_mean: float
    difference_points: float
    difference_error: float | None
    n_runs: int


@dataclass(frozen=True)
class Gaps:
    """Runs of the grid that are missing in the store, or were made with outdated data sets."""

    n_wanted: int
    n_missing: int
    n_failed: int
    empty_cells: tuple[Cell, ...]
    n_outdated: int = 0

    def describe(self) -> str:
        """The gaps in one or two sentences; empty if there are none."""
        text = ""
        if self.n_missing:
            are = either_form(self.n_missing, "is", "are")
            text = f"Incomplete: {self.n_missing} of {counted(self.n_wanted, 'run')} {are} missing"
            text += f", {self.n_failed} of them failed" if self.n_failed else ""
            if n_empty := len(self.empty_cells):
                have = either_form(n_empty, "has", "have")
                text += f"; {counted(n_empty, 'cell')} {have} no run at all"
            text += ". "
        if self.n_outdated:
            are = either_form(self.n_outdated, "is", "are")
            text += (
                "Data sets changed while the store was filled: "
                f"{counted(self.n_outdated, 'run')} with earlier ones {are} left out."
            )
        return text.rstrip()


def chosen_records(store: Store, only: CellFilter = EVERY_CELL, arm: Arm = "A") -> list[RunRecord]:
    """The finished runs of a store, or of some of its cells, in the order of the grid.

    If runs of one task and source have different data sets, only those with the data sets of the
    run that was written last are used.
    """
    records = _current(store, only)[0]
    if not records:
        raise InputError(
            f"The store {store.folder} has no finished runs of the cells asked for. "
            "Run the test bed first, or select less strictly."
        )
    if arm != "A" and not any(record.arms for record in records):
        raise InputError(
            f"No run of the store {store.folder} was tested in arm {arm}: only networks from "
            "scratch with a pool are. Use arm A."
        )
    records = [record.in_arm(arm) for record in records]
    order = {cell: place for place, cell in enumerate(cells(store.config))}
    return sorted(records, key=lambda r: (order.get(r.cell, len(order)), r.run.seed))


def _current(store: Store, only: CellFilter) -> tuple[list[RunRecord], int]:
    """The records with the data sets of the newest of their task and source; n with others."""
    taken = [record for record in store.records() if only.takes(record.run)]
    kept: list[RunRecord] = []
    for own in grouped(((r.run.task, r.run.source), r) for r in taken).values():
        last = max(own, key=lambda record: store.written_at(record.key)).data
        kept += [record for record in own if record.data == last]
    return kept, len(taken) - len(kept)


def accuracy_rows(records: Sequence[RunRecord], choice: Choice) -> list[AccuracyRow]:
    """One row for each cell that has runs."""
    views, column = _views(records), attrgetter("task", "n_labelled", "regime")
    values = grouped((record.cell, record.accuracy.by(choice)) for record in records)
    rows = [
        AccuracyRow(**vars(cell), **_over_runs("accuracy_", found), view=views[cell])
        for cell, found in values.items()
    ]
    means = grouped((column(row), row.accuracy_mean) for row in rows)
    return [replace(row, is_best=row.accuracy_mean == max(means[column(row)])) for row in rows]


def distance_rows(records: Sequence[RunRecord]) -> list[DistanceRow]:
    """One row for each cell and measure that has runs."""
    views = _views(records)
    values = grouped(
        ((record.cell, measure), found)
        for record in records
        for measure, found in (record.distances or {}).items()
    )
    rows = []
    for (cell, measure), found in values.items():
        p_median = float(np.median([one.p_permutation for one in found]))
        own = _over_runs("distance_", [one.distance for one in found])
        own |= {"p_median": p_median, "is_significant": p_median < SIGNIFICANT}
        rows.append(DistanceRow(**vars(cell), measure=measure, view=views[cell], **own))
    return rows


def arm_rows(records: Sequence[RunRecord]) -> list[ArmRow]:
    """One row for each cell, epoch and arm; none if no record has arms."""
    found = grouped((record.cell, record) for record in records if record.arms is not None)
    rows = []
    for (cell, own), epoch in product(found.items(), EPOCHS):
        by_arm = {
            arm: np.array([record.in_arm(arm).accuracy.by(epoch) for record in own]) for arm in ARMS
        }
        for arm, values in by_arm.items():
            points, n_runs = 100 * (values - by_arm[ARMS[0]]), len(own)
            error = float(points.std(ddof=1)) / math.sqrt(n_runs) if n_runs > 1 else None
            row = ArmRow(
                **vars(cell),
                arm=arm,
                epoch=epoch,
                accuracy_mean=float(values.mean()),
                difference_points=float(points.mean()),
                difference_error=error,
                n_runs=n_runs,
            )
            rows.append(row)
    return rows


def _views(records: Sequence[RunRecord]) -> dict[Cell, str | None]:
    """The views of the runs of each cell, separated by semicolons; None without any."""
    found = grouped((record.cell, record.view) for record in records)
    return {cell: "; ".join(sorted({*filter(None, own)})) or None for cell, own in found.items()}


def gaps(store: Store, only: CellFilter = EVERY_CELL) -> Gaps:
    """The runs of the store's grid that are missing."""
    grid = store.config.grid
    wanted = [cell for cell in cells(store.config) if only.takes(cell)]
    current, n_outdated = _current(store, only)
    found = grouped((record.cell, record.run.seed) for record in current)
    seeds = range(grid.first_seed, grid.first_seed + grid.seeds)
    n_missing = sum(seed not in found.get(cell, ()) for cell in wanted for seed in seeds)
    empty = tuple(cell for cell in wanted if cell not in found)
    n_failed = sum(only.takes(each.run) for each in store.failures())
    return Gaps(len(wanted) * grid.seeds, n_missing, n_failed, empty, n_outdated)


def _over_runs(prefix: str, values: Sequence[float]) -> dict[str, Any]:
    """Mean, standard deviation (None for a single value) and number of the values of a cell."""
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    mean = float(np.mean(values))
    return {f"{prefix}mean": mean, f"{prefix}spread": spread, "n_runs": len(values)}


@dataclass(frozen=True)
class Tables:
    """All numbers of the tables; 3 may be empty, 4 and 5 are if no run has arms."""

    choice: Choice
    n_seeds: int
    accuracies: list[AccuracyRow]
    distances: list[DistanceRow]
    agreements: list[AgreementRow]
    lines: list[GroupLine]
    gaps: Gaps
    arm: Arm = "A"
    arms: list[ArmRow] = field(default_factory=list)
    arm_agreements: list[ArmAgreementRow] = field(default_factory=list)
    has_paper: bool = False  # whether the rows have the paper's numbers beside their own

    def to_dict(self) -> dict[str, object]:
        """The tables in plain values."""
        return {
            "selection": self.choice,
            "arm": self.arm,
            "gaps": asdict(self.gaps),
            "table1": self.plain(self.accuracies),
            "table2": self.plain(self.distances),
            "table3": self.plain(self.agreements),
            "table4": self.plain(self.arms),
            "table5": self.plain(self.arm_agreements),
        }

    def plain(self, rows: Sequence[Cell] | Sequence[GroupKey]) -> list[dict[str, Any]]:
        """Rows in plain values, without the paper's numbers or views where there are none."""
        hidden = set() if self.has_paper else {"paper"}
        hidden |= set() if any(row.view for row in self.accuracies) else {"view"}
        found = []
        for row in rows:
            values = {key: value for key, value in asdict(row).items() if key not in hidden}
            if isinstance(row, Cell):
                # The paper's T_OOD comes after the task.
                values = {"task": values.pop("task"), "ood_type": row.ood_type, **values}
            found.append(values)
        return found


def make_tables(
    store: Store,
    choice: Choice,
    only: CellFilter = EVERY_CELL,
    records: Sequence[RunRecord] | None = None,
    beside_paper: bool = False,
    arm: Arm = "A",
) -> Tables:
    """The tables of a store, or of some of its cells; `records` are those runs, if read before."""
    records = chosen_records(store, only, arm) if records is None else records
    accuracies, distances = accuracy_rows(records, choice), distance_rows(records)
    agreements = agreement_rows(records, choice)
    if beside_paper:
        accuracies = [replace(row, paper=paper_accuracy(row)) for row in accuracies]
        far, r = paper_table("table2_distances"), paper_table("table3_correlations")
        distances = [
            replace(row, paper=far.get((row.task, row.source, row.percent, row.measure)))
            for row in distances
        ]
        agreements = [
            replace(row, paper=r.get((row.task, row.n_labelled, row.measure))) for row in agreements
        ]
    return Tables(
        choice,
        store.config.grid.seeds,
        accuracies,
        distances,
        agreements,
        fitted_lines(records, choice),
        gaps(store, only),
        arm,
        arm_rows(records),
        arm_agreement_rows(records),
        beside_paper,
    )


@dataclass(frozen=True, kw_only=True)
class OutlookRow(Cell):
    """One of PREDICTORS for one cell: mean and standard deviation over the runs that have it."""

    measure: str
    mean: float
    spread: float | None
    n_runs: int


def outlook_rows(records: Sequence[RunRecord]) -> list[OutlookRow]:
    """One row for each cell and predictor that has runs."""
    values = grouped(
        ((record.cell, name), value)
        for record in records
        for name, value in values_of(record, "predictors").items()
    )
    return [
        OutlookRow(**vars(cell), measure=name, **_over_runs("", found))
        for (cell, name), found in values.items()
    ]


PUBLISHED = {
    "table1_accuracy": ("accuracy_mean", "task", "ood_source", "ood_percent", "n_labelled"),
    "table2_distances": ("distance_mean", "task", "ood_source", "ood_percent", "measure"),
    "table3_correlations": ("pearson", "task", "n_labelled", "measure"),
}
"""The paper's tables: the column of the value, and those of its key."""
_READ: dict[str, Callable[[str], Any]] = {
    "ood_source": lambda word: word or "supervised",
    "ood_percent": lambda word: float(word or 0),
    "n_labelled": int,
}


@cache
def paper_table(table: str) -> dict[tuple[Any, ...], float]:
    """The numbers of one of the paper's tables by their keys; `supervised` is a source."""
    value, *keys = PUBLISHED[table]
    text = files("mixmood.testbed").joinpath(f"paper/{table}.csv").read_text(encoding="utf-8")
    return {
        tuple(_READ.get(key, str)(row[key]) for key in keys): float(row[value])
        for row in csv.DictReader(io.StringIO(text))
    }


def paper_accuracy(cell: Cell) -> float | None:
    """The number of a cell in Table 1 of the paper, or None."""
    if cell.algorithm == "supervised-updates":
        return None  # The paper only has the baseline with the same epochs.
    source = "supervised" if cell.is_supervised else cell.source
    key = (cell.task, source, cell.percent, cell.n_labelled)
    return paper_table("table1_accuracy").get(key)
