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
from mixmood.testbed.grid.cells import SUPERVISED

N_EMPTY = 6
"""How many cells without a run are named; of the others only the number is given."""
SELECTIONS = {
    "last": "after the last epoch",
    "median": "the median of the last five epochs",
    "validation": "at the epoch that was best on validation images",
    "best": "at the epoch that was best on the test images, as in the paper; this is optimistic",
}


def overview_page(record: Overview, command: str | None = None) -> str:
    """The page of a test bed, as HTML text; `command` is the one that made it."""
    choices = Choices.of(record.tables)
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
            "groups": plot_groups(record.tables, choices, pools),
            "accuracies": accuracy_lines(record.table1, choices, pools),
            "distances": distance_lines(record.table2, choices, pools),
            "agreements": agreement_lines(record.table3, choices),
            "overall": agreement_lines(record.overall, choices),
            "accuracy_ticks": accuracy_axis(record.table1).ticks(4),
            "correlation_ticks": CORRELATION.ticks(4),
            "selection": SELECTIONS[record.selection],
            "pool_name": pool_name,
            "n_empty": N_EMPTY,
        },
    )
