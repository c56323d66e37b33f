"""Accuracy against distance, and against the share of foreign images: what is drawn together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mixmood.report.charts import Axis, Tick
from mixmood.report.testbed.choices import Choices, Valued, spread_ends, value_of
from mixmood.testbed.analysis.groups import GroupKey, GroupLine
from mixmood.testbed.analysis.tables import AccuracyRow, DistanceRow, Tables
from mixmood.testbed.cells import Cell

SHARE = Axis(-7.0, 107.0)
"""The axis of percentages, with a margin at both ends for shifted traces."""


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
    clean: list[AccuracyRow]
    """The pool without foreign images, where the lines of all sources start."""
    contaminated: list[AccuracyRow]
    supervised: list[AccuracyRow]
    scatters: list[Scatter]

    @property
    def by_source(self) -> dict[str, list[AccuracyRow]]:
        """The cells of each source of foreign images, the lowest percentage first."""
        found: dict[str, list[AccuracyRow]] = {}
        for row in sorted(self.contaminated, key=lambda row: row.percent):
            found.setdefault(row.source, []).append(row)
        return found

    @property
    def share_ticks(self) -> list[Tick]:
        """The percentages on their axis."""
        percents = sorted({0.0, *(row.percent for row in self.contaminated)})
        return [Tick(percent, SHARE.at(percent)) for percent in percents]

    @property
    def accuracy_axis(self) -> Axis:
        """The axis of accuracies beside that of percentages."""
        rows = (*self.clean, *self.contaminated, *self.supervised)
        return _axis_with_margins([end for row in rows for end in spread_ends(row)])


def plot_groups(
    tables: Tables,
    choices: Choices,
    predictors: Iterable[Valued] = (),
    predictor_lines: Iterable[GroupLine] = (),
) -> list[PlotGroup]:
    """A group for each way of training with foreign images.

    Args:
        tables: The cells, their distances, and lines fitted to both.
        choices: The order of the measures.
        predictors: Further values that are drawn as distances are.
        predictor_lines: The lines fitted to them.
    """
    keys = dict.fromkeys(GroupKey.of(row) for row in tables.accuracies if row.percent > 0)
    values, lines = [*tables.distances, *predictors], [*tables.lines, *predictor_lines]
    return [_group(tables.accuracies, key, values, lines, choices) for key in keys]


def _group(
    rows: Sequence[AccuracyRow],
    key: GroupKey,
    values: Sequence[Valued],
    lines: Sequence[GroupLine],
    choices: Choices,
) -> PlotGroup:
    comparable = [row for row in rows if _setting(row) == _setting(key)]
    own = [row for row in comparable if row.percent > 0 and GroupKey.of(row) == key]
    return PlotGroup(
        key,
        [row for row in comparable if not row.percent and row.algorithm == key.algorithm],
        own,
        [row for row in comparable if row.is_supervised],
        _scatters({row.cell: row for row in own}, key, values, lines, choices),
    )


def _scatters(
    accuracy: dict[Cell, AccuracyRow],
    key: GroupKey,
    values: Sequence[Valued],
    lines: Sequence[GroupLine],
    choices: Choices,
) -> list[Scatter]:
    """A picture for each measure; those of a group share their axis of accuracy."""
    pairs = [(accuracy[row.cell], row) for row in values if row.cell in accuracy]
    fits = {line.measure: line for line in lines if GroupKey.of(line) == key}
    heights = [row.accuracy_mean for row, _ in pairs]
    y_axis = _axis_with_margins([*heights, *(end for line in fits.values() for end in line.y)])
    found = []
    for measure in choices.values["measure"]:
        own = [pair for pair in pairs if pair[1].measure == measure]
        if own:
            x_axis = _value_axis([row for _, row in own])
            found.append(Scatter(measure, own, fits.get(measure), x_axis, y_axis))
    return found


def _value_axis(rows: Sequence[Valued]) -> Axis:
    values = [value_of(row) for row in rows]
    if isinstance(rows[0], DistanceRow):
        # From 0: a pool at distance 0 is like the labelled images.
        return Axis(0.0, 1.06 * max(values) or 1.0)
    return _axis_with_margins(values)


def _axis_with_margins(values: list[float]) -> Axis:
    """An axis with margins, so that no mark is cut by the frame."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    room = 0.07 * (high - low) or 0.05
    return Axis(low - room, high + room)


def _setting(row: AccuracyRow | GroupKey) -> tuple[object, ...]:
    """The values that a baseline and a pool must share to be compared."""
    return row.task, row.n_labelled, row.regime
