"""Accuracy against distance, and against the share of foreign images, as points in percent."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mixmood.report.axis import Axis, Tick
from mixmood.report.marks import LABELLED, Mark
from mixmood.report.numbers import fixed, number
from mixmood.report.testbed_choices import Choices, Row, is_supervised
from mixmood.report.testbed_pools import Pools, pool_name
from mixmood.report.testbed_rows import spread_ends

GROUP = ("task", "n_labelled", "algorithm", "contamination")
DODGE = 3.5
"""Pixels between the error bars of two sources at the same percentage."""
SHARE = Axis(-7.0, 107.0)
"""Percentages, with room for what is moved aside."""


@dataclass(frozen=True)
class Point:
    """A cell in a picture: where it is, and what is told about it."""

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
    points: list[Point]
    line: tuple[float, float, float, float] | None
    pearson: float | None
    x_ticks: list[Tick]
    y_ticks: list[Tick]


@dataclass(frozen=True)
class Trace:
    """A source over its percentages, moved aside by some pixels."""

    mark: Mark
    shift: float
    points: list[Point]


@dataclass(frozen=True)
class Shares:
    """Accuracy against the share of foreign images in one group."""

    data: dict[str, int]
    traces: list[Trace]
    baselines: list[tuple[Row, float]]
    """Supervised rows and their heights."""
    x_ticks: list[Tick]
    y_ticks: list[Tick]


@dataclass(frozen=True)
class Group:
    """All pictures of one task, number of labels, algorithm and contamination."""

    task: str
    n_labelled: int
    variant: str
    data: dict[str, int]
    scatters: list[Scatter]
    shares: Shares | None


def plot_groups(record: Row, choices: Choices, pools: Pools) -> list[Group]:
    """The pictures of a record; the pictures of a task share their axes of accuracy."""
    rows: list[Row] = record["table1"]
    keys = dict.fromkeys(_key(row) for row in rows if row["percent"] > 0)
    groups = []
    for key in keys:
        head: dict[str, Any] = dict(zip(GROUP, key, strict=True))
        data = choices.marks(head)
        groups.append(
            Group(
                head["task"],
                head["n_labelled"],
                choices.variant(head),
                data,
                _scatters(record, key, data, choices, pools),
                _shares(rows, key, data, pools),
            )
        )
    return groups


def _scatters(
    record: Row, key: tuple[object, ...], data: dict[str, int], choices: Choices, pools: Pools
) -> list[Scatter]:
    task = key[0]
    accuracy = {_cell(row): row for row in record["table1"]}
    drawn = [row for row in record["table2"] if row["task"] == task and row["percent"] > 0]
    lines = [line for line in record["lines"] if line["task"] == task]
    heights = [accuracy[_cell(row)]["accuracy_mean"] for row in drawn]
    y_axis = Axis.of_values([*heights, *(end for line in lines for end in line["y"])] or [0.0])
    found = []
    for place, measure in enumerate(choices.values["measure"]):
        own = [row for row in drawn if _key(row) == key and row["measure"] == measure]
        if not own:
            continue
        x_axis = Axis.of_values([row["distance_mean"] for row in own])
        line = next((e for e in lines if (_key(e), e["measure"]) == (key, measure)), None)
        found.append(
            Scatter(
                measure,
                {**data, "data-measure": place},
                [_point(accuracy[_cell(row)], row, x_axis, y_axis, pools) for row in own],
                None if line is None else _ends(line, x_axis, y_axis),
                None if line is None else line["pearson"],
                x_axis.ticks(3),
                y_axis.ticks(4),
            )
        )
    return found


def _point(row: Row, far: Row, x_axis: Axis, y_axis: Axis, pools: Pools) -> Point:
    weak = "" if far["is_significant"] else ", not significant"
    return Point(
        x_axis.at(far["distance_mean"]),
        round(100 - y_axis.at(row["accuracy_mean"]), 2),
        pools.mark(row["source"]),
        pools.size(row["percent"]),
        pool_name(row),
        f"{_accuracy(row)}; {far['measure']} "
        f"{_with_spread(far['distance_mean'], far['distance_spread'], number)}{weak}",
    )


def _ends(line: Row, x_axis: Axis, y_axis: Axis) -> tuple[float, float, float, float]:
    (x1, x2), (y1, y2) = line["x"], line["y"]
    heights = (round(100 - y_axis.at(y), 2) for y in (y1, y2))
    return x_axis.at(x1), next(heights), x_axis.at(x2), next(heights)


def _shares(
    rows: list[Row], key: tuple[object, ...], data: dict[str, int], pools: Pools
) -> Shares | None:
    of_task = [row for row in rows if row["task"] == key[0]]
    axis = Axis.of_values([end for row in of_task for end in spread_ends(row)])
    near = [row for row in of_task if row["n_labelled"] == key[1]]
    clean = [row for row in near if not row["percent"] and row["algorithm"] == key[2]]
    own = [row for row in near if row["percent"] > 0 and _key(row) == key]
    sources = [name for name in pools.sources if any(row["source"] == name for row in own)]
    middle = (len(sources) - 1) / 2
    traces = [
        Trace(
            pools.mark(source),
            round((place - middle) * DODGE, 2),
            [
                _share(row, axis, pools)
                for row in sorted(
                    [*clean, *(row for row in own if row["source"] == source)],
                    key=lambda row: float(row["percent"]),
                )
            ],
        )
        for place, source in enumerate(sources)
    ]
    baselines = [(r, round(100 - axis.at(r["accuracy_mean"]), 2)) for r in near if is_supervised(r)]
    percents = sorted({0.0, *(row["percent"] for row in own)})
    x_ticks = [Tick(percent, SHARE.at(percent)) for percent in percents]
    return Shares(data, traces, baselines, x_ticks, axis.ticks(4))


def _share(row: Row, axis: Axis, pools: Pools) -> Point:
    mean, low, high = (round(100 - axis.at(end), 2) for end in spread_ends(row))
    mark = pools.mark_of(row) or LABELLED
    text = _accuracy(row)
    return Point(SHARE.at(row["percent"]), mean, mark, 1.0, pool_name(row), text, low, high)


def _accuracy(row: Row) -> str:
    words = _with_spread(row["accuracy_mean"], row["accuracy_spread"], fixed)
    return f"accuracy {words}, {row['n_runs']} {'run' if row['n_runs'] == 1 else 'runs'}"


def _with_spread(mean: float, spread: float | None, form: Callable[[float], str]) -> str:
    return form(mean) if spread is None else f"{form(mean)} ± {form(spread)}"


def _key(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in GROUP)


def _cell(row: Row) -> tuple[object, ...]:
    return (*_key(row), row["source"], row["percent"])
