"""Accuracy against distance, and against the share of foreign images, with places in percent."""

from collections.abc import Sequence
from dataclasses import dataclass

from mixmood.report.charts import LABELLED, Axis, Mark, Tick
from mixmood.report.testbed.choices import (
    Choices,
    Pools,
    Valued,
    pool_name,
    spread_ends,
    value_of,
    value_words,
)
from mixmood.report.text import with_spread
from mixmood.testbed.analysis.groups import GroupKey, GroupLine
from mixmood.testbed.analysis.overview import Overview
from mixmood.testbed.analysis.tables import AccuracyRow, DistanceRow

SHIFT = 3.5
"""Pixels between the error bars of two sources at the same percentage."""
SHARE = Axis(-7.0, 107.0)
"""The axis of percentages, with a margin at both ends for shifted traces."""


@dataclass(frozen=True)
class PlottedCell:
    """A cell in a picture: its place, and the text shown with it."""

    x: float
    y: float
    mark: Mark
    size: float
    title: str
    text: str
    low: float = 0.0
    high: float = 0.0


@dataclass(frozen=True)
class Scatter:
    """Accuracy against one measure's distance in one group."""

    measure: str
    data: dict[str, int]
    points: list[PlottedCell]
    line: tuple[float, float, float, float] | None
    pearson: float | None
    x_ticks: list[Tick]
    y_ticks: list[Tick]


@dataclass(frozen=True)
class Trace:
    """A source over its percentages, shifted by some pixels."""

    mark: Mark
    shift: float
    points: list[PlottedCell]


@dataclass(frozen=True)
class Shares:
    """Accuracy against the share of foreign images in one group."""

    data: dict[str, int]
    clean: PlottedCell | None
    """The pool without foreign images, where the lines of all sources start."""
    traces: list[Trace]
    baselines: list[tuple[AccuracyRow, float]]
    """Supervised rows and their heights."""
    x_ticks: list[Tick]
    y_ticks: list[Tick]


@dataclass(frozen=True)
class PlotGroup:
    """All pictures of one task, number of labels, algorithm and contamination."""

    task: str
    n_labelled: int
    variant: str
    data: dict[str, int]
    scatters: list[Scatter]
    shares: Shares


@dataclass(frozen=True)
class Group:
    """The cells that are drawn together: of one task, number of labels and way of training."""

    key: GroupKey
    clean: list[AccuracyRow]
    """The pool without foreign images."""
    contaminated: list[AccuracyRow]
    supervised: list[AccuracyRow]

    @property
    def sources(self) -> list[str]:
        """The sources of the foreign images."""
        return list(dict.fromkeys(row.source for row in self.contaminated))


def groups_of(rows: Sequence[AccuracyRow]) -> list[Group]:
    """What the page and the figures draw: a group for each way of training with foreign images."""
    keys = dict.fromkeys(GroupKey.of(row) for row in rows if row.percent > 0)
    return [_group(rows, key) for key in keys]


def _group(rows: Sequence[AccuracyRow], key: GroupKey) -> Group:
    comparable = [row for row in rows if _setting(row) == _setting(key)]
    return Group(
        key,
        [row for row in comparable if not row.percent and row.algorithm == key.algorithm],
        [row for row in comparable if row.percent > 0 and GroupKey.of(row) == key],
        [row for row in comparable if row.is_supervised],
    )


def plot_groups(record: Overview, choices: Choices, pools: Pools) -> list[PlotGroup]:
    """The pictures of a test bed; the scatter plots of a group share their axis of accuracy."""
    drawn = []
    for group in groups_of(record.tables.accuracies):
        key, data = group.key, choices.marks(group.key)
        scatters = _scatters(record, key, data, choices, pools)
        shares = _shares(group, data, pools)
        drawn.append(
            PlotGroup(key.task, key.n_labelled, choices.variant(key), data, scatters, shares)
        )
    return drawn


def _scatters(
    record: Overview, key: GroupKey, data: dict[str, int], choices: Choices, pools: Pools
) -> list[Scatter]:
    accuracy = {row.cell: row for row in record.table1}
    rows: list[Valued] = [*record.table2, *record.outlook]
    drawn = [row for row in rows if GroupKey.of(row) == key and row.percent > 0]
    fits = (*record.lines, *record.predictor_lines)
    lines = {line.measure: line for line in fits if GroupKey.of(line) == key}
    heights = [accuracy[row.cell].accuracy_mean for row in drawn]
    y_axis = _axis_with_margins([*heights, *(end for line in lines.values() for end in line.y)])
    found = []
    for place, measure in enumerate(choices.values["measure"]):
        own = [row for row in drawn if row.measure == measure]
        if not own:
            continue
        x_axis = _value_axis(own)
        line = lines.get(measure)
        found.append(
            Scatter(
                measure,
                {**data, "data-measure": place},
                [_point(accuracy[row.cell], row, x_axis, y_axis, pools) for row in own],
                None if line is None else _ends(line, x_axis, y_axis),
                None if line is None else line.pearson,
                x_axis.ticks(4),
                y_axis.ticks(4),
            )
        )
    return found


def _value_axis(rows: Sequence[Valued]) -> Axis:
    values = [value_of(row) for row in rows]
    if isinstance(rows[0], DistanceRow):
        # From 0: a pool at distance 0 is like the labelled images.
        return Axis(0.0, 1.06 * max(values) or 1.0)
    return _axis_with_margins(values)


def _point(
    row: AccuracyRow, predictor: Valued, x_axis: Axis, y_axis: Axis, pools: Pools
) -> PlottedCell:
    return PlottedCell(
        x_axis.at(value_of(predictor)),
        round(100 - y_axis.at(row.accuracy_mean), 2),
        pools.mark(row.source),
        pools.size(row.percent),
        pool_name(row),
        f"{_accuracy(row)}; {value_words(predictor)}",
    )


def _ends(line: GroupLine, x_axis: Axis, y_axis: Axis) -> tuple[float, float, float, float]:
    (x1, x2), (y1, y2) = line.x, line.y
    heights = (round(100 - y_axis.at(y), 2) for y in (y1, y2))
    return x_axis.at(x1), next(heights), x_axis.at(x2), next(heights)


def _shares(group: Group, data: dict[str, int], pools: Pools) -> Shares:
    clean, own = group.clean, group.contaminated
    axis = _axis_with_margins(
        [end for row in (*clean, *own, *group.supervised) for end in spread_ends(row)]
    )
    sources = [name for name in pools.sources if name in group.sources]
    middle = (len(sources) - 1) / 2
    traces = [
        Trace(
            pools.mark(source),
            round((place - middle) * SHIFT, 2),
            [
                _share(row, axis, pools)
                for row in sorted(own, key=lambda row: row.percent)
                if row.source == source
            ],
        )
        for place, source in enumerate(sources)
    ]
    percents = sorted({0.0, *(row.percent for row in own)})
    x_ticks = [Tick(percent, SHARE.at(percent)) for percent in percents]
    return Shares(
        data,
        _share(clean[0], axis, pools) if clean else None,
        traces,
        [(row, round(100 - axis.at(row.accuracy_mean), 2)) for row in group.supervised],
        x_ticks,
        axis.ticks(4),
    )


def _share(row: AccuracyRow, axis: Axis, pools: Pools) -> PlottedCell:
    mean, low, high = (round(100 - axis.at(end), 2) for end in spread_ends(row))
    mark = pools.mark_of(row) or LABELLED
    text = _accuracy(row)
    return PlottedCell(SHARE.at(row.percent), mean, mark, 1.0, pool_name(row), text, low, high)


def _axis_with_margins(values: list[float]) -> Axis:
    """An axis with margins, so that no mark is cut by the frame."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    room = 0.07 * (high - low) or 0.05
    return Axis(low - room, high + room)


def _accuracy(row: AccuracyRow) -> str:
    words = with_spread(row.accuracy_mean, row.accuracy_spread)
    return f"accuracy {words}, {row.n_runs} {'run' if row.n_runs == 1 else 'runs'}"


def _setting(row: AccuracyRow | GroupKey) -> tuple[object, ...]:
    """The values that a baseline and a pool must share to be compared."""
    return row.task, row.n_labelled, row.regime
