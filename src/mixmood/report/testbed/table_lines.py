"""The three tables of a test bed, ready to be drawn."""

from collections.abc import Sequence
from dataclasses import dataclass

from mixmood.report.charts.axis import Axis
from mixmood.report.charts.marks import Mark
from mixmood.report.testbed.cell_values import Valued, value_of
from mixmood.report.testbed.choices import Choices
from mixmood.report.testbed.pool_marks import Pools, pool_name
from mixmood.testbed.analysis.statistics.agreement import AgreementRow
from mixmood.testbed.analysis.statistics.overall import OverallRow
from mixmood.testbed.analysis.summary import AccuracyRow
from mixmood.testbed.grid.cells import Cell

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


def spread_ends(row: AccuracyRow) -> list[float]:
    """The mean accuracy, and the mean minus and plus one standard deviation, within 0 and 1."""
    mean, spread = row.accuracy_mean, row.accuracy_spread or 0.0
    return [mean, max(mean - spread, 0.0), min(mean + spread, 1.0)]


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


def line_key(row: AccuracyRow) -> tuple[object, ...]:
    """The line of Table 1 that a row is in: everything of a cell but its number of labels."""
    return row.task, row.algorithm, row.contamination, row.regime, row.source, row.percent


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
