"""Accuracies and correlations by arm."""

import csv
import gzip
import io

import pytest

from mixmood.core.errors import InputError
from mixmood.report.testbed.export import records_csv_gz
from mixmood.report.testbed.sheets import SHEETS, render_sheet
from mixmood.testbed.analysis.agreement import MEAN, arm_agreement_rows
from mixmood.testbed.analysis.tables import arm_rows, chosen_records, make_tables
from mixmood.testbed.record import RunAccuracy


def with_arms(record, **by_arm):
    """The record with these accuracies at the best epoch, and 0.1 less at the last."""
    arms = {
        arm: RunAccuracy(best=value, last=value - 0.1, median=value, validation=value)
        for arm, value in by_arm.items()
    }
    return record.model_copy(update={"arms": arms, "accuracy": arms["A"]})


@pytest.fixture
def records(make_record):
    """In arm A all cells are equal but for seeds; in arm B the farther, the worse."""
    return [
        with_arms(
            make_record(source=source, seed=seed, task=task, distances={"cosine": float(far)}),
            A=0.6,
            B=0.6 - 0.1 * far - 0.01 * seed * far,
            C=0.6,
            D=0.5,
        )
        for task in ("digits", "mnist")
        for far, source in enumerate(("other_half", "gaussian", "salt_and_pepper"))
        for seed in range(2)
    ]


def test_differences_from_arm_a_are_paired(records):
    rows = {(r.task, r.source, r.epoch, r.arm): r for r in arm_rows(records)}
    found = rows["digits", "salt_and_pepper", "best", "B"]
    assert found.accuracy_mean == pytest.approx(0.39)
    assert found.difference_points == pytest.approx(-21)
    assert found.difference_error == pytest.approx(1)
    last = rows["digits", "salt_and_pepper", "last", "B"]
    assert (last.accuracy_mean, last.difference_points) == pytest.approx((0.29, -21))
    assert rows["digits", "gaussian", "best", "A"].difference_points == 0


def test_every_arm_has_its_own_correlation_and_the_mean_of_the_tasks(records):
    rows = {(r.task, r.epoch, r.arm): r for r in arm_agreement_rows(records)}
    assert rows["digits", "best", "B"].pearson == pytest.approx(-1)
    assert rows[MEAN, "best", "B"].pearson == pytest.approx(-1)
    assert rows["digits", "best", "A"].pearson is None
    assert len(rows) == 3 * 2 * 4


def test_tables_4_and_5_have_every_arm_and_an_arm_can_be_asked_for(store, records):
    for record in records:
        store.write(record)
    tables = make_tables(store, "best", arm="B")
    assert min(row.accuracy_mean for row in tables.accuracies) == pytest.approx(0.39)
    assert {"HH", "Dif"} == {row["ood_type"] for row in tables.to_dict()["table4"]}
    assert "-21.0 ± 1.0" in render_sheet(SHEETS[4](tables), "text")
    assert MEAN in render_sheet(SHEETS[5](tables), "markdown")


def test_an_arm_that_no_run_has_is_refused(store, make_record):
    store.write(make_record())
    assert chosen_records(store)
    with pytest.raises(InputError, match="was tested in arm D"):
        chosen_records(store, arm="D")


def test_the_table_of_records_has_the_arms(records):
    row = next(csv.DictReader(io.StringIO(gzip.decompress(records_csv_gz(records)).decode())))
    assert (row["arm_B_best"], row["arm_D_last"]) == ("0.6", "0.4")
