"""The page of a test bed: its three tables, ready to be drawn, and its plots."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mixmood.report.charts import LABELLED, Axis, Mark
from mixmood.report.page import render
from mixmood.report.testbed.choices import (
    TITLES,
    Choices,
    Pools,
    Row,
    Valued,
    line_key,
    pivoted,
    pool_name,
    spread_ends,
    value_of,
    value_words,
)
from mixmood.report.testbed.plots import SHARE, plot_groups
from mixmood.testbed.analysis.agreement import AgreementRow, OverallRow
from mixmood.testbed.analysis.groups import GroupKey
from mixmood.testbed.analysis.overview import Overview
from mixmood.testbed.analysis.tables import AccuracyRow
from mixmood.testbed.cells import SUPERVISED


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


@dataclass(frozen=True)
class AgreementLine:
    """A line of Table 3."""

    row: AgreementRow | OverallRow
    variant: str
    data: dict[str, object]


def table_lines(
    rows: Sequence[Row],
    line_of: Callable[[Row], object],
    column: str,
    choices: Choices,
    pools: Pools,
) -> list[TableLine]:
    """A table with a line for each pool, and a column for each value of a field of the rows."""
    lines = []
    for first, cells in pivoted(rows, line_of, column, choices.values[column]):
        name = pool_name(first)
        # A missing value has no attribute: the page sorts such a line to the end.
        values = {f"data-v{k}": value_of(row) for k, row in enumerate(cells) if row is not None}
        data = {**choices.marks(first, without=column), "data-name": name, **values}
        variant, own = choices.variant(first), pools.mark_of(first)
        lines.append(TableLine(name, first.task, variant, own, data, cells))
    return lines


def agreement_lines(
    rows: Sequence[AgreementRow] | Sequence[OverallRow], choices: Choices
) -> list[AgreementLine]:
    """Table 3, or its means over all groups."""
    lines = []
    for row in rows:
        found = {"pearson": row.pearson, "spearman": row.spearman}
        values = {**found, "regret-points": row.regret_points}
        data = {f"data-{key}": value for key, value in values.items() if value is not None}
        variant = choices.variant(row) if isinstance(row, AgreementRow) else ""
        lines.append(AgreementLine(row, variant, {**choices.marks(row), **data}))
    return lines


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
    values: list[Valued] = [*record.table2, *record.outlook]
    groups = plot_groups(record.tables, choices, record.outlook, record.predictor_lines)
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
            "groups": groups,
            "accuracies": table_lines(record.table1, line_key, "n_labelled", choices, pools),
            "distances": table_lines(values, lambda row: row.cell, "measure", choices, pools),
            "agreements": agreement_lines(_by_group(record), choices),
            "overall": agreement_lines(record.overall, choices),
            "overall_predictors": agreement_lines(record.overall_predictors, choices),
            "predictors": predictors,
            "accuracy_axis": Axis.of_values(
                [end for row in record.table1 for end in spread_ends(row)]
            ),
            "correlation_axis": Axis(-1.0, 1.0),
            "share_axis": SHARE,
            "labelled_mark": LABELLED,
            "spread_ends": spread_ends,
            "value_of": value_of,
            "value_words": value_words,
            "selection": SELECTIONS[record.selection],
            "pool_name": pool_name,
            "n_empty": N_EMPTY,
        },
    )
