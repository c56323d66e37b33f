"""The page of a test bed: its three tables, ready to be drawn, and its plots."""

from collections.abc import Sequence

from mixmood.report.charts import LABELLED, Axis
from mixmood.report.page import render
from mixmood.report.testbed import choices as cells
from mixmood.report.testbed.choices import Choices, Row, Valued, pivoted, spread_ends, value_of
from mixmood.testbed.analysis.groups import GroupKey
from mixmood.testbed.analysis.overview import Overview
from mixmood.testbed.analysis.tables import AccuracyRow
from mixmood.testbed.cells import SUPERVISED


def line_data(
    first: Row, row: Sequence[AccuracyRow | Valued | None], column: str, choices: Choices
) -> dict[str, object]:
    """The HTML attributes of a line; without one for its value, it is sorted to the end."""
    values = {f"data-v{k}": value_of(one) for k, one in enumerate(row) if one is not None}
    return {**choices.marks(first, without=column), "data-name": cells.pool_name(first), **values}


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
    groups = cells.plot_groups(tables, choices, record.outlook, record.predictor_lines)
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
            "titles": cells.TITLES,
            "baselines": {name: SUPERVISED[name] for name in SUPERVISED if name in algorithms},
            "groups": groups,
            "accuracies": pivoted(tables.accuracies, cells.line_key, "n_labelled", labels),
            "distances": pivoted(values, lambda row: row.cell, "measure", measures),
            "agreements": sorted(agreements, key=lambda row: order.index(GroupKey.of(row))),
            "line_data": line_data,
            "predictors": predictors,
            "accuracy_axis": Axis.of_values(ends),
            "correlation_axis": Axis(-1.0, 1.0),
            "share_axis": cells.SHARE,
            "labelled_mark": LABELLED,
            "spread_ends": spread_ends,
            "value_of": value_of,
            "value_words": cells.value_words,
            "selection": SELECTIONS[tables.choice],
            "pool_name": cells.pool_name,
            "n_empty": N_EMPTY,
        },
    )
