"""The page of a test bed: its three tables, ready to be drawn, and its plots."""

from collections.abc import Sequence
from dataclasses import dataclass

from mixmood.report.charts import Axis, Mark
from mixmood.report.page import render
from mixmood.report.testbed.choices import (
    TITLES,
    Choices,
    Pools,
    Valued,
    line_key,
    pool_name,
    spread_ends,
    value_of,
)
from mixmood.report.testbed.plots import plot_groups
from mixmood.testbed.analysis.agreement import AgreementRow, OverallRow
from mixmood.testbed.analysis.groups import GroupKey
from mixmood.testbed.analysis.overview import Overview
from mixmood.testbed.analysis.tables import AccuracyRow
from mixmood.testbed.cells import SUPERVISED, Cell

CORRELATION = Axis(-1.0, 1.0)


@dataclass(frozen=True)
class ErrorBar:
    """A value on its axis and the ends of its error bar; places in percent."""

    at: float
    low: float
    high: float


@dataclass(frozen=True)
class TableLine:
    """A line of a table: a pool of one task, and its cells by column; None where there is none."""

    name: str
    task: str
    variant: str
    mark: Mark | None
    data: dict[str, object]
    """The HTML attributes by which the line is filtered and sorted."""
    cells: Sequence[AccuracyRow | Valued | None]
    error_bars: Sequence[ErrorBar | None]


@dataclass(frozen=True)
class AgreementLine:
    """A line of Table 3."""

    row: AgreementRow | OverallRow
    variant: str
    data: dict[str, object]
    pearson: ErrorBar | None


def accuracy_axis(rows: Sequence[AccuracyRow]) -> Axis:
    """One axis for all accuracies of Table 1."""
    return Axis.of_values([end for row in rows for end in spread_ends(row)])


def accuracy_lines(rows: Sequence[AccuracyRow], choices: Choices, pools: Pools) -> list[TableLine]:
    """Table 1: one line for each pool of a task, one column for each number of labels."""
    axis = accuracy_axis(rows)
    found: dict[tuple[object, ...], dict[int, AccuracyRow]] = {}
    for row in rows:
        found.setdefault(line_key(row), {})[row.n_labelled] = row
    lines = []
    for own in found.values():
        cells = [own.get(n) for n in choices.values["n_labelled"]]
        error_bars = [None if row is None else _error_bar(row, axis) for row in cells]
        first = next(iter(own.values()))
        data = choices.marks(first, without="n_labelled")
        means = [None if row is None else row.accuracy_mean for row in cells]
        lines.append(_line(first, cells, error_bars, means, data, choices, pools))
    return lines


def distance_lines(rows: Sequence[Valued], choices: Choices, pools: Pools) -> list[TableLine]:
    """Table 2: one line for each pool and number of labels, one column for each measure."""
    found: dict[Cell, dict[str, Valued]] = {}
    for row in rows:
        found.setdefault(row.cell, {})[row.measure] = row
    lines = []
    for cell, own in found.items():
        cells = [own.get(measure) for measure in choices.values["measure"]]
        means = [None if row is None else value_of(row) for row in cells]
        none = [None] * len(cells)
        lines.append(_line(cell, cells, none, means, choices.marks(cell), choices, pools))
    return lines


def agreement_lines(
    rows: Sequence[AgreementRow] | Sequence[OverallRow], choices: Choices
) -> list[AgreementLine]:
    """Table 3, or its means over all groups."""
    return [
        AgreementLine(
            row,
            choices.variant(row) if isinstance(row, AgreementRow) else "",
            {**choices.marks(row), **_values(row, "pearson", "spearman", "regret_points")},
            _correlation(row),
        )
        for row in rows
    ]


def _line(
    row: Cell,
    cells: Sequence[AccuracyRow | Valued | None],
    error_bars: Sequence[ErrorBar | None],
    means: Sequence[float | None],
    marks: dict[str, int],
    choices: Choices,
    pools: Pools,
) -> TableLine:
    name = pool_name(row)
    # A missing value has no attribute: the page sorts such a line to the end.
    values = {f"data-v{k}": mean for k, mean in enumerate(means) if mean is not None}
    return TableLine(
        name,
        row.task,
        choices.variant(row),
        pools.mark_of(row),
        {**marks, "data-name": name, **values},
        cells,
        error_bars,
    )


def _values(row: AgreementRow | OverallRow, *keys: str) -> dict[str, object]:
    found = {key: getattr(row, key) for key in keys}
    return {f"data-{k.replace('_', '-')}": v for k, v in found.items() if v is not None}


def _error_bar(row: AccuracyRow, axis: Axis) -> ErrorBar:
    return ErrorBar(*(axis.at(end) for end in spread_ends(row)))


def _correlation(row: AgreementRow | OverallRow) -> ErrorBar | None:
    if row.pearson is None:
        return None
    ends = row.pearson_interval or (row.pearson, row.pearson)
    return ErrorBar(*(CORRELATION.at(value) for value in (row.pearson, *ends)))


N_EMPTY = 6
"""How many cells without a run are named; the others are only counted."""
SELECTIONS = {
    "last": "after the last epoch",
    "median": "the median of the last five epochs",
    "validation": "at the epoch that was best on validation images",
    "best": "at the epoch that was best on the test images, as in the paper; this is optimistic",
}


def _by_group(record: Overview) -> list[AgreementRow]:
    """Table 3 with the predictors of each group after its measures."""
    rows = [*record.table3, *record.predictors]
    order = list(dict.fromkeys(GroupKey.of(row) for row in rows))
    return sorted(rows, key=lambda row: order.index(GroupKey.of(row)))


def overview_page(record: Overview, command: str | None = None) -> str:
    """The page of a test bed, as HTML text; `command` is the one that made it."""
    predictors = list(dict.fromkeys(row.measure for row in record.outlook))
    choices = Choices.of(record.tables, predictors)
    pools = Pools.of(record.table1)
    algorithms = {row.algorithm for row in record.table1}
    return render(
        "testbed/testbed.html",
        record.to_json(),
        {
            "record": record,
            "command": command,
            "choices": choices,
            "titles": TITLES,
            "pools": pools,
            "baselines": {name: SUPERVISED[name] for name in SUPERVISED if name in algorithms},
            "groups": plot_groups(record, choices, pools),
            "accuracies": accuracy_lines(record.table1, choices, pools),
            "distances": distance_lines([*record.table2, *record.outlook], choices, pools),
            "agreements": agreement_lines(_by_group(record), choices),
            "overall": agreement_lines(record.overall, choices),
            "overall_predictors": agreement_lines(record.overall_predictors, choices),
            "predictors": predictors,
            "accuracy_ticks": accuracy_axis(record.table1).ticks(4),
            "correlation_ticks": CORRELATION.ticks(4),
            "selection": SELECTIONS[record.selection],
            "pool_name": pool_name,
            "n_empty": N_EMPTY,
        },
    )
