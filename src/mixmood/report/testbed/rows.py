"""The three tables of a test bed, ready to be drawn."""

from collections.abc import Mapping
from dataclasses import dataclass

from mixmood.report.charts.axis import Axis
from mixmood.report.charts.marks import Mark
from mixmood.report.testbed.choices import Choices, Row
from mixmood.report.testbed.pools import Pools, pool_name

CORRELATION = Axis(-1.0, 1.0)


@dataclass(frozen=True)
class Reach:
    """A value on its axis with what it may be off by; places in percent."""

    at: float
    low: float
    high: float


@dataclass(frozen=True)
class Line:
    """A line of a table: a pool of one task, and its rows by column; None where there is none."""

    name: str
    task: str
    variant: str
    mark: Mark | None
    data: dict[str, object]
    """The attributes that it is filtered and sorted by."""
    cells: list[Row | None]
    reaches: list[Reach | None]


@dataclass(frozen=True)
class Agreement:
    """A line of Table 3."""

    row: Row
    variant: str
    data: dict[str, object]
    pearson: Reach | None


def accuracy_axis(record: Row) -> Axis:
    """One axis for all accuracies of Table 1."""
    return Axis.of_values([end for row in record["table1"] for end in spread_ends(row)])


def accuracy_lines(record: Row, choices: Choices, pools: Pools) -> list[Line]:
    """Table 1: one line for each pool of a task, one column for each number of labels."""
    rows: list[Row] = record["table1"]
    axis = accuracy_axis(record)
    found: dict[tuple[object, ...], dict[object, Row]] = {}
    for row in rows:
        found.setdefault(_place(row), {})[row["n_labelled"]] = row
    lines = []
    for own in found.values():
        cells = [own.get(n) for n in choices.values["n_labelled"]]
        reaches = [None if row is None else _reach(row, axis) for row in cells]
        first = {k: v for k, v in next(iter(own.values())).items() if k != "n_labelled"}
        lines.append(_line(first, cells, reaches, choices, pools, "accuracy_mean"))
    return lines


def distance_lines(record: Row, choices: Choices, pools: Pools) -> list[Line]:
    """Table 2: one line for each pool and number of labels, one column for each measure."""
    found: dict[tuple[object, ...], dict[object, Row]] = {}
    for row in record["table2"]:
        found.setdefault((*_place(row), row["n_labelled"]), {})[row["measure"]] = row
    lines = []
    for own in found.values():
        cells = [own.get(measure) for measure in choices.values["measure"]]
        first = {k: v for k, v in next(iter(own.values())).items() if k != "measure"}
        lines.append(_line(first, cells, [None] * len(cells), choices, pools, "distance_mean"))
    return lines


def agreements(rows: list[Row], choices: Choices) -> list[Agreement]:
    """Table 3, or its means over all groups."""
    return [
        Agreement(
            row,
            choices.variant(row) if "task" in row else "",
            {**choices.marks(row), **_values(row, "pearson", "spearman", "regret_points")},
            _correlation(row),
        )
        for row in rows
    ]


def spread_ends(row: Row) -> list[float]:
    """An accuracy's mean and the ends of one standard deviation, kept between 0 and 1."""
    mean, spread = row["accuracy_mean"], row["accuracy_spread"] or 0.0
    return [mean, max(mean - spread, 0.0), min(mean + spread, 1.0)]


def _line(
    row: Row,
    cells: list[Row | None],
    reaches: list[Reach | None],
    choices: Choices,
    pools: Pools,
    value: str,
) -> Line:
    name = pool_name(row)
    data: dict[str, object] = {**choices.marks(row), "data-name": name}
    # Without a value there is no attribute, and such a line is sorted to the end.
    data |= {f"data-v{k}": cell[value] for k, cell in enumerate(cells) if cell is not None}
    return Line(
        name,
        row["task"],
        choices.variant(row) if row["percent"] > 0 else "",
        pools.mark_of(row),
        data,
        cells,
        reaches,
    )


def _place(row: Row) -> tuple[object, ...]:
    return tuple(row[k] for k in ("task", "algorithm", "contamination", "source", "percent"))


def _values(row: Mapping[str, object], *keys: str) -> dict[str, object]:
    return {f"data-{k.replace('_', '-')}": row[k] for k in keys if row[k] is not None}


def _reach(row: Row, axis: Axis) -> Reach:
    return Reach(*(axis.at(end) for end in spread_ends(row)))


def _correlation(row: Row) -> Reach | None:
    if row["pearson"] is None:
        return None
    ends = row["pearson_interval"] or (row["pearson"], row["pearson"])
    return Reach(*(CORRELATION.at(value) for value in (row["pearson"], *ends)))
