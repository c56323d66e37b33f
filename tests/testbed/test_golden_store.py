"""A store is read, drawn and continued; its numbers do not change."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mixmood.report.testbed.sheets import SHEETS, render_sheet
from mixmood.testbed.analysis.tables import make_tables
from mixmood.testbed.cells import runs
from mixmood.testbed.run import job_for
from mixmood.testbed.store import Store

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture(scope="module")
def golden():
    return Store(GOLDEN / "store")


def test_records_are_whole_after_reading(golden):
    keys = golden.keys()
    for record in (*golden.records(), *golden.failures()):
        folder = "runs" if record.key in keys else "failed"
        written = json.loads((golden.folder / folder / f"{record.key}.json").read_text())
        assert json.loads(json.dumps(record.to_dict())) == written


def test_runs_keep_their_keys(golden):
    """Otherwise a store that is continued would do everything again."""
    assert {job_for(golden.config, run).key for run in runs(golden.config)} == golden.keys()
    keys, run = golden.keys(), replace(runs(golden.config)[0], regime="frozen")
    assert job_for(golden.config, run).key not in keys


@pytest.mark.parametrize("form", ["text", "markdown", "latex"])
@pytest.mark.parametrize("number", [1, 2])
def test_tables_of_accuracies_and_distances_are_the_same(golden, form, number):
    tables = make_tables(golden, "last")
    assert (
        render_sheet(SHEETS[number](tables), form)
        in (GOLDEN / "store_tables" / f"tables.{form}").read_text()
    )


def as_near(value):
    """What equals a value but for rounding: processors may differ in the last digit of a sum."""
    return pytest.approx(value, rel=1e-12) if isinstance(value, float) else value


def test_all_numbers_but_intervals_are_the_same(golden):
    """Intervals of two seeds covered too little, and are not given any more."""
    before = json.loads((GOLDEN / "store_tables" / "tables.json").read_text())
    now = json.loads(json.dumps(make_tables(golden, "last").to_dict()))
    for name in ("table1", "table2", "table3"):
        for old_row, new_row in zip(before[name], now[name], strict=True):
            for key, value in old_row.items():
                if not key.endswith("_interval"):
                    assert new_row[key] == as_near(value)
    assert all(row["pearson_interval"] is None for row in now["table3"])
