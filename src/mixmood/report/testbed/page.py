"""The page of a test bed: its three tables, ready to be drawn, and its plots."""

from collections.abc import Sequence

from mixmood.report.charts import LABELLED, Axis
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
from mixmood.testbed.analysis.agreement import AgreementRow
from mixmood.testbed.analysis.groups import GroupKey
from mixmood.testbed.analysis.overview import Overview
from mixmood.testbed.analysis.tables import AccuracyRow
from mixmood.testbed.cells import SUPERVISED


def line_data(
    first: Row, cells: Sequence[AccuracyRow | Valued | None], column: str, choices: Choices
) -> dict[str, object]:
    """The HTML attributes by which a line of a table is filtered and sorted.

    A missing value has no attribute: the page sorts such a line to the end.
    """
    values = {f"data-v{k}": value_of(row) for k, row in enumerate(cells) if row is not None}
    return {**choices.marks(first, without=column), "data-name": pool_name(first), **values}


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
    rows = [*record.tables.agreements, *record.predictors]
    order = list(dict.fromkeys(GroupKey.of(row) for row in rows))
    return sorted(rows, key=lambda row: order.index(GroupKey.of(row)))


def overview_page(record: Overview, command: str | None = None) -> str:
    """The page of a test bed, as HTML text; `command` is the one that made it."""
    predictors = list(dict.fromkeys(row.measure for row in record.outlook))
    choices = Choices.of(record.tables, predictors)
    pools = Pools.of(record.tables.accuracies)
    values: list[Valued] = [*record.tables.distances, *record.outlook]
    groups = plot_groups(record.tables, choices, record.outlook, record.predictor_lines)
    labels, measures = choices.values["n_labelled"], choices.values["measure"]
    algorithms = {row.algorithm for row in record.tables.accuracies}
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
            "accuracies": pivoted(record.tables.accuracies, line_key, "n_labelled", labels),
            "distances": pivoted(values, lambda row: row.cell, "measure", measures),
            "agreements": _by_group(record),
            "line_data": line_data,
            "predictors": predictors,
            "accuracy_axis": Axis.of_values(
                [end for row in record.tables.accuracies for end in spread_ends(row)]
            ),
            "correlation_axis": Axis(-1.0, 1.0),
            "share_axis": SHARE,
            "labelled_mark": LABELLED,
            "spread_ends": spread_ends,
            "value_of": value_of,
            "value_words": value_words,
            "selection": SELECTIONS[record.tables.choice],
            "pool_name": pool_name,
            "n_empty": N_EMPTY,
        },
    )
