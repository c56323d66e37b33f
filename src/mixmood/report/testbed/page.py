"""The page of a test bed; its names, marks and groups are shared with its figures and tables."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeVar

from mixmood.core.text import counted
from mixmood.report.charts import LABELLED, Axis, Mark, Tick, mark
from mixmood.report.page import render
from mixmood.report.text import fixed, number, signed, with_spread
from mixmood.testbed.analysis.agreement import OverallRow
from mixmood.testbed.analysis.groups import GAIN, GroupKey, GroupLine, grouped
from mixmood.testbed.analysis.overview import Overview
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
VARIANT = ("regime", "algorithm", "contamination", "n_unlabelled")  # how a cell was trained

CLEAN = "no contamination"
SMALLEST = 0.65  # the size of a mark at the lowest percentage, relative to the one at the highest

TableRow = Cell | GroupKey | OverallRow


@dataclass(frozen=True)
class Choices:
    """All values of each key (task, number of labels, ...), in the order of the tables."""

    values: dict[str, list[Any]]
    sources: list[str]  # of all contaminated rows
    percents: list[float]

    @classmethod
    def of(cls, tables: Tables, predictors: Sequence[str] = ()) -> "Choices":
        """All choices of the three tables; predictors come after the measures."""
        rows = tables.accuracies
        cells = [row for row in rows if not row.is_supervised] or rows
        rows_of: dict[str, Sequence[Any]] = {
            "task": rows,
            "n_labelled": sorted(rows, key=lambda row: row.n_labelled),
            "measure": tables.distances,
            "regime": rows,
            **dict.fromkeys(("algorithm", "contamination", "n_unlabelled"), cells),
        }
        values = {key: list({getattr(row, key): 0 for row in own}) for key, own in rows_of.items()}
        values["measure"] += predictors
        found = [row for row in rows if row.percent > 0]
        sources = list(dict.fromkeys(row.source for row in found))
        return cls(values, sources, sorted({row.percent for row in found}))

    @property
    def filters(self) -> dict[str, list[Any]]:
        """The keys that have more than one value, with their values."""
        return {key: found for key, found in self.values.items() if len(found) > 1}

    def marks(self, row: TableRow, *, without: str | None = None) -> dict[str, int]:
        """The HTML attributes by which a row is filtered: for every key, the index of its value.

        A key without an attribute matches every choice: a baseline belongs to every algorithm and
        contamination, a pool without contamination to every contamination.
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
        """Regime, algorithm, contamination and size of the pool, each only if rows differ in it."""
        is_baseline = isinstance(row, Cell) and row.is_supervised
        keys = ("regime",) if is_baseline else VARIANT
        return ", ".join(str(getattr(row, key)) for key in keys if len(self.values[key]) > 1)

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


line_key = attrgetter(
    "task", "algorithm", "contamination", "regime", "n_unlabelled", "source", "percent"
)
"""The line of Table 1 that a row is in: everything of a cell but its number of labels."""


def pivoted(
    rows: Iterable[Row], line_of: Callable[[Row], object], column: str, values: Sequence[Any]
) -> list[tuple[Row, list[Row | None]]]:
    """A row of each line of a table, and all its cells; None where `column` lacks a value."""
    lines: dict[object, dict[Any, Row]] = {}
    for row in rows:
        lines.setdefault(line_of(row), {})[getattr(row, column)] = row
    return [(next(iter(own.values())), [own.get(v) for v in values]) for own in lines.values()]


def spread_ends(row: AccuracyRow) -> list[float]:
    """The mean accuracy, and the mean minus and plus one standard deviation, within 0 and 1."""
    mean, spread = row.accuracy_mean, row.accuracy_spread or 0.0
    return [mean, max(mean - spread, 0.0), min(mean + spread, 1.0)]


SHARE = Axis(-7.0, 107.0)  # the axis of percentages, with a margin at both ends for shifted traces


@dataclass(frozen=True)
class Scatter:
    """Accuracy against the values of one measure in one group."""

    measure: str
    points: list[tuple[AccuracyRow, Valued]]
    line: GroupLine | None
    x_axis: Axis
    y_axis: Axis


@dataclass(frozen=True)
class PlotGroup:
    """The cells that are drawn together: of one task, number of labels and way of training."""

    key: GroupKey
    clean: list[AccuracyRow]  # the pool without foreign images, where the lines of sources start
    by_source: dict[str, list[AccuracyRow]]  # the lowest percentage first
    supervised: list[AccuracyRow]
    scatters: list[Scatter]
    share_ticks: list[Tick]
    accuracy_axis: Axis  # beside that of percentages


def plot_groups(
    tables: Tables,
    choices: Choices,
    predictors: Iterable[Valued] = (),
    predictor_lines: Iterable[GroupLine] = (),
) -> list[PlotGroup]:
    """A group for each way of training with foreign images; predictors are drawn as distances."""
    values, lines = [*tables.distances, *predictors], [*tables.lines, *predictor_lines]
    groups = []
    for key in dict.fromkeys(GroupKey.of(row) for row in tables.accuracies if row.percent > 0):
        # A baseline and a pool must share these to be compared.
        same = attrgetter("task", "n_labelled", "regime")
        rows = [row for row in tables.accuracies if same(row) == same(key)]
        clean = [row for row in rows if not row.percent and row.algorithm == key.algorithm]
        supervised = [row for row in rows if row.is_supervised]
        own = {row.cell: row for row in rows if row.percent > 0 and GroupKey.of(row) == key}
        by_source = grouped((r.source, r) for r in sorted(own.values(), key=attrgetter("percent")))
        percents = sorted({0.0, *(row.percent for row in own.values())})
        ends = [end for r in (*clean, *own.values(), *supervised) for end in spread_ends(r)]

        pairs = [(own[row.cell], row) for row in values if row.cell in own]
        fits = {line.measure: line for line in lines if GroupKey.of(line) == key}
        heights = [row.accuracy_mean for row, _ in pairs]
        y_axis = _axis_with_margins([*heights, *(end for line in fits.values() for end in line.y)])
        scatters = [
            Scatter(measure, found, fits.get(measure), _value_axis(found), y_axis)
            for measure in choices.values["measure"]
            if (found := [pair for pair in pairs if pair[1].measure == measure])
        ]
        ticks = [Tick(percent, SHARE.at(percent)) for percent in percents]
        axis = _axis_with_margins(ends)
        groups.append(PlotGroup(key, clean, by_source, supervised, scatters, ticks, axis))
    return groups


def _value_axis(points: Sequence[tuple[AccuracyRow, Valued]]) -> Axis:
    values = [value_of(row) for _, row in points]
    if isinstance(points[0][1], DistanceRow):
        # From 0: a pool at distance 0 is like the labelled images.
        return Axis(0.0, 1.06 * max(values) or 1.0)
    return _axis_with_margins(values)


def _axis_with_margins(values: list[float]) -> Axis:
    """An axis with margins, so that no mark is cut by the frame."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    room = 0.07 * (high - low) or 0.05
    return Axis(low - room, high + room)


def line_data(
    first: Row, row: Sequence[AccuracyRow | Valued | None], column: str, choices: Choices
) -> dict[str, object]:
    """The HTML attributes of a line; without one for its value, it is sorted to the end."""
    values = {f"data-v{k}": value_of(one) for k, one in enumerate(row) if one is not None}
    return {**choices.marks(first, without=column), "data-name": pool_name(first), **values}


N_EMPTY = 6  # how many cells without a run are named; the others are only counted
SELECTIONS = {
    "last": "after the last epoch",
    "median": "the median of the last five epochs",
    "validation": "at the epoch that was best on validation images",
    "best": "at the epoch that was best on the test images, as in the paper; this is optimistic",
}


def overview_page(record: Overview, command: str | None = None) -> str:
    """The page of a test bed, as HTML text; `command` is the one that made it."""
    predictors = list(dict.fromkeys(row.measure for row in record.outlook))
    tables = record.tables
    choices = Choices.of(tables, predictors)
    values: list[Valued] = [*tables.distances, *record.outlook]
    groups = plot_groups(tables, choices, record.outlook, record.predictor_lines)
    labels, measures = choices.values["n_labelled"], choices.values["measure"]
    algorithms = {row.algorithm for row in tables.accuracies}
    # Table 3 with the predictors of each group after its measures.
    agreements = [*tables.agreements, *record.predictors]
    order = list(dict.fromkeys(GroupKey.of(row) for row in agreements))
    ends = [end for row in tables.accuracies for end in spread_ends(row)]
    return render(
        "testbed/testbed.html",
        record.to_json(),
        {
            "record": record,
            "command": command,
            "choices": choices,
            "titles": TITLES,
            "baselines": {name: SUPERVISED[name] for name in SUPERVISED if name in algorithms},
            "groups": groups,
            "accuracies": pivoted(tables.accuracies, line_key, "n_labelled", labels),
            "distances": pivoted(values, lambda row: row.cell, "measure", measures),
            "agreements": sorted(agreements, key=lambda row: order.index(GroupKey.of(row))),
            "line_data": line_data,
            "predictors": predictors,
            "accuracy_axis": Axis.of_values(ends),
            "correlation_axis": Axis(-1.0, 1.0),
            "share_axis": SHARE,
            "labelled_mark": LABELLED,
            "spread_ends": spread_ends,
            "value_of": value_of,
            "value_words": value_words,
            "selection": SELECTIONS[tables.choice],
            "pool_name": pool_name,
            "n_empty": N_EMPTY,
        },
    )
