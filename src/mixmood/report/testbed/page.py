"""The page of a test bed, drawn from its record."""

from mixmood.report.page.render import render
from mixmood.report.testbed.choices import TITLES, Choices
from mixmood.report.testbed.plots import plot_groups
from mixmood.report.testbed.pool_marks import Pools, pool_name
from mixmood.report.testbed.table_lines import (
    CORRELATION,
    accuracy_axis,
    accuracy_lines,
    agreement_lines,
    distance_lines,
)
from mixmood.testbed.analysis.overview import Overview
from mixmood.testbed.analysis.statistics.agreement import AgreementRow
from mixmood.testbed.analysis.statistics.groups import GroupKey
from mixmood.testbed.grid.cells import SUPERVISED

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
