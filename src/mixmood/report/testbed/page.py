"""The page of a test bed, drawn from its record."""

from collections.abc import Mapping
from typing import Any

from mixmood.report.page.render import render
from mixmood.report.testbed.choices import SUPERVISED, TITLES, Choices
from mixmood.report.testbed.plots import plot_groups
from mixmood.report.testbed.pools import Pools, pool_name
from mixmood.report.testbed.rows import (
    CORRELATION,
    accuracy_axis,
    accuracy_lines,
    agreements,
    distance_lines,
)

N_EMPTY = 6
"""Cells without a run that are named; of more, the number is told."""
SELECTIONS = {
    "last": "after the last epoch",
    "median": "the median of the last five epochs",
    "validation": "at the epoch that was best on validation images",
    "best": "at the epoch that was best on the test images, as in the paper; this flatters",
}


def overview_page(record: Mapping[str, Any], record_json: str, command: str | None = None) -> str:
    """The page of a test bed, as HTML text.

    Args:
        record: What `mixmood.testbed.analysis.overview` gathers, in plain values.
        record_json: The same as JSON, to be copied from the page.
        command: What was typed to get the page.
    """
    choices = Choices.of(record)
    pools = Pools.of(record["table1"])
    algorithms = dict.fromkeys(row["algorithm"] for row in record["table1"])
    return render(
        "testbed/testbed.html",
        record_json,
        {
            "record": record,
            "command": command,
            "choices": choices,
            "titles": TITLES,
            "pools": pools,
            "baselines": {name: SUPERVISED[name] for name in SUPERVISED if name in algorithms},
            "groups": plot_groups(record, choices, pools),
            "accuracies": accuracy_lines(record, choices, pools),
            "distances": distance_lines(record, choices, pools),
            "agreements": agreements(record["table3"], choices),
            "overall": agreements(record["overall"], choices),
            "accuracy_ticks": accuracy_axis(record).ticks(4),
            "correlation_ticks": CORRELATION.ticks(4),
            "selection": SELECTIONS[record["selection"]],
            "pool_name": pool_name,
            "n_empty": N_EMPTY,
        },
    )
