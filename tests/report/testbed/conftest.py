"""The overview of a small test bed whose names are hostile."""

import pytest
from tests.fixtures.hostile_names import BREAKOUT, EVIL

from mixmood.testbed.analysis.agreement import AgreementRow, Chance, OverallRow
from mixmood.testbed.analysis.groups import GroupKey, GroupLine
from mixmood.testbed.analysis.overview import Extremes, FailureCount, Overview
from mixmood.testbed.analysis.tables import AccuracyRow, DistanceRow, Gaps, Tables
from mixmood.testbed.cells import Cell


def bed_cell(task, source, percent, n_labelled, algorithm="mixmatch"):
    return Cell(task, source, percent, n_labelled, algorithm, "fixed-total")


def bed_rows(task, n_labelled, sources, measures):
    """Tables 1 and 2 of one task: accuracy falls as cosine grows, and l2 knows nothing."""
    table1, table2 = [], []

    def add(cell, accuracy):
        table1.append(
            AccuracyRow(
                **vars(cell), accuracy_mean=accuracy, accuracy_spread=0.02, n_runs=3,
                is_best=accuracy == 0.9,
            )
        )  # fmt: skip

    add(bed_cell(task, "none", 0.0, n_labelled, "supervised-epochs"), 0.6)
    add(bed_cell(task, "none", 0.0, n_labelled), 0.9)
    for k, source in enumerate(sources):
        for percent in (50.0, 100.0):
            far = (k + 1) * percent / 10
            cell = bed_cell(task, source, percent, n_labelled)
            add(cell, 0.85 - far / 100)
            table2 += [
                DistanceRow(
                    **vars(cell), measure=measure,
                    distance_mean=far if measure == "cosine" else 3.0 + k,
                    distance_spread=None if k else 0.5, p_median=0.01, n_runs=3,
                    is_significant=k > 0,
                )
                for measure in measures
            ]  # fmt: skip
    return table1, table2


@pytest.fixture(scope="session")
def bed():
    """The overview of a test bed: two tasks, two numbers of labels, one gap."""
    tasks, labels, sources = (EVIL, "mnist"), (20, 60), ("svhn", BREAKOUT, "gaussian")
    made = [bed_rows(t, n, sources, ("cosine", "l2")) for t in tasks for n in labels]
    agreement = {
        "pearson": -0.91, "pearson_interval": (-0.95, -0.8), "spearman": None,
        "spearman_interval": None, "regret_points": 1.5, "regret_interval": (0.0, 3.25),
        "n_seeds": 3,
    }  # fmt: skip
    groups = [GroupKey(t, n, "mixmatch", "fixed-total") for t in tasks for n in labels]
    tables = Tables(
        choice="last",
        n_seeds=3,
        # A gap: one cell of the last task was never run.
        accuracies=[row for rows, _ in made for row in rows][:-1],
        distances=[row for _, rows in made for row in rows][:-2],
        agreements=[
            AgreementRow(**vars(group), measure=measure, **agreement, n_cells=6)
            for group in groups
            for measure in ("cosine", "l2")
        ],
        lines=[
            GroupLine(**vars(group), measure="cosine", x=(5.0, 30.0), y=(0.8, 0.55), pearson=-1.0)
            for group in groups
        ],
        gaps=Gaps(96, 3, 2, (bed_cell("mnist", "gaussian", 100.0, 60),)),
    )
    return Overview(
        mixmood="0.1.0",
        testbed="tiny",
        store="/tmp/<b>store</b>",
        verdict="Nearer pools gave better models.",
        chance=Chance(p_lower=0.02, p_higher=1.0, n_arrangements=48),
        best_measure="cosine",
        n_runs=93,
        failures=[FailureCount(f"ValueError: {EVIL}", 2)],
        compute_s=9000.0,
        versions={"mixmood": ["0.1.0"], "numpy": ["2.3", "2.4"]},
        protocol={"training": {"epochs": 2, "settings": {EVIL: {"a": 1}}}},
        extremes=[Extremes(EVIL, 100.0, "svhn", 0.75, BREAKOUT, 0.65, 3, 0.2)],
        overall=[OverallRow(measure=m, **agreement, n_groups=4) for m in ("cosine", "l2")],
        tables=tables,
    )
