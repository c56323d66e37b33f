"""One training, four ways to test it: accuracy by arm, and correlation of distances by arm."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, get_args

import numpy as np

from mixmood.ssl.record import Arm
from mixmood.testbed.analysis.agreement import agreement_rows, overall_rows
from mixmood.testbed.analysis.groups import GroupKey, grouped
from mixmood.testbed.analysis.statistics import Interval
from mixmood.testbed.cells import Cell
from mixmood.testbed.record import RunRecord

ARMS: tuple[Arm, ...] = get_args(Arm)
EpochChoice = Literal["best", "last"]
EPOCHS: tuple[EpochChoice, ...] = get_args(EpochChoice)
MEAN = "(mean of tasks)"
SHOWN = ("measure", "pearson", "spearman", "n_seeds")
"""How the fields of a row of Table 3 begin that a row of Table 5 has too."""


@dataclass(frozen=True, kw_only=True)
class ArmRow(Cell):
    """Accuracy of one cell in one arm, at the best epoch of that arm or at the last epoch.

    `difference_points` is the mean over runs of this arm minus arm A, in points, and
    `difference_error` its standard error: both accuracies of a pair come from one training.
    """

    arm: Arm
    epoch: EpochChoice
    accuracy_mean: float
    difference_points: float
    difference_error: float | None
    n_runs: int


@dataclass(frozen=True, kw_only=True)
class ArmAgreementRow(GroupKey):
    """Correlation of a measure with accuracy in one arm, with 95 % intervals over seeds."""

    arm: Arm
    epoch: EpochChoice
    measure: str
    pearson: float | None
    pearson_interval: Interval
    spearman: float | None
    spearman_interval: Interval
    n_seeds: int


def arm_rows(records: Sequence[RunRecord]) -> list[ArmRow]:
    """One row for each cell, epoch and arm; none if no record has arms."""
    found = grouped((record.cell, record) for record in records if record.arms is not None)
    rows = []
    for (cell, own), epoch in product(found.items(), EPOCHS):
        by_arm = {
            arm: np.array([record.in_arm(arm).accuracy.by(epoch) for record in own]) for arm in ARMS
        }
        for arm, values in by_arm.items():
            points, n_runs = 100 * (values - by_arm[ARMS[0]]), len(own)
            error = float(points.std(ddof=1)) / math.sqrt(n_runs) if n_runs > 1 else None
            row = ArmRow(
                **vars(cell),
                arm=arm,
                epoch=epoch,
                accuracy_mean=float(values.mean()),
                difference_points=float(points.mean()),
                difference_error=error,
                n_runs=n_runs,
            )
            rows.append(row)
    return rows


def arm_agreement_rows(records: Sequence[RunRecord]) -> list[ArmAgreementRow]:
    """One row for each group, measure, epoch and arm, and one for the mean over the tasks."""
    ways = grouped(
        ((run.n_labelled, run.n_unlabelled, run.algorithm, run.contamination), record)
        for record in records
        if record.arms is not None
        for run in [record.run]
    )
    made = []
    for own, epoch, arm in product(ways.values(), EPOCHS, ARMS):
        tested = [record.in_arm(arm) for record in own]
        rows = agreement_rows(tested, epoch)
        found = [(vars(GroupKey.of(row)), vars(row)) for row in rows]
        if len({row.task for row in rows}) > 1:
            mean = vars(GroupKey.of(rows[0])) | {"task": MEAN}
            found += [(mean, vars(row)) for row in overall_rows(tested, epoch)]
        for group, row in found:
            shown = {name: value for name, value in row.items() if name.startswith(SHOWN)}
            made.append(ArmAgreementRow(**group, arm=arm, epoch=epoch, **shown))
    return made
