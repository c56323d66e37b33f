"""Table 3 from records: correlations, regret and their intervals over seeds."""

import json

import numpy as np
import pytest

from mixmood.core.errors import InputError
from mixmood.report.testbed.sheets import agreement_sheet, render_sheet
from mixmood.testbed.analysis.agreement import agreement_rows
from mixmood.testbed.analysis.tables import accuracy_rows, make_tables
from mixmood.testbed.record import RunRecord


def seeds_of(make_record, accuracies, distances):
    """Records of one source at 10, 20, ... percent; a list of accuracies for each seed."""
    return [
        make_record(percent=10 * (cell + 1), seed=seed, accuracy=value, distances={"js": far})
        for seed, row in enumerate(accuracies)
        for cell, (value, far) in enumerate(zip(row, distances, strict=True))
    ]


def test_a_perfect_line_has_pearson_minus_1_and_no_regret(make_record):
    rows = [[0.9, 0.8, 0.7, 0.6], [0.85, 0.75, 0.65, 0.55], [0.8, 0.7, 0.6, 0.5]]
    (row,) = agreement_rows(seeds_of(make_record, rows, [1, 2, 3, 4]), "last")
    assert row.pearson == pytest.approx(-1)
    assert row.pearson_interval == pytest.approx((-1, -1), abs=0.001)
    assert row.spearman_interval == pytest.approx((-1, -1), abs=0.001)
    assert (row.regret_points, row.n_cells, row.n_seeds) == (0, 4, 3)


def test_intervals_are_wider_when_seeds_disagree(make_record):
    rng = np.random.default_rng(0)
    line = np.array([0.9, 0.8, 0.7, 0.6])
    widths = []
    for noise in (0.01, 0.1):
        rows = line + noise * rng.normal(size=(6, 4))
        (row,) = agreement_rows(seeds_of(make_record, rows.tolist(), [1, 2, 3, 4]), "last")
        low, high = row.pearson_interval
        assert low <= row.pearson <= high
        widths.append(high - low)
    assert widths[0] < widths[1]


@pytest.mark.parametrize("n_seeds", [1, 2])
def test_one_or_two_seeds_have_no_interval(make_record, n_seeds):
    rows = [[0.9, 0.8, 0.7], [0.8, 0.9, 0.7]][:n_seeds]
    (row,) = agreement_rows(seeds_of(make_record, rows, [1, 2, 3]), "last")
    assert row.pearson_interval is row.spearman_interval is row.regret_interval is None


def test_only_seeds_that_all_cells_have_are_compared(make_record):
    records = seeds_of(make_record, [[0.9, 0.8, 0.7], [0.1, 0.2, 0.3]], [1, 2, 3])
    (row,) = agreement_rows(records[:-1], "last")
    assert row.n_seeds == 1
    assert row.pearson == pytest.approx(-1)


def test_regret_counts_only_the_highest_percentage(make_record):
    records = [
        make_record(source=source, percent=percent, accuracy=accuracy, distances={"js": far})
        for source, percent, accuracy, far in [
            ("near", 50, 0.9, 0.1),
            ("near", 100, 0.6, 1.0),
            ("far", 100, 0.7, 2.0),
        ]
    ]
    (row,) = agreement_rows(records, "last")
    assert row.regret_points == pytest.approx(10)


def test_too_few_cells_cannot_be_correlated(make_record, store):
    records = seeds_of(make_record, [[0.9, 0.8]], [1, 2])
    assert agreement_rows(records, "last") == []
    store.write(records[0])
    text = render_sheet(agreement_sheet(make_tables(store, "last")), "text")
    assert "No task has three contaminated cells that share a seed." in text


def test_runs_of_one_labelled_set_in_different_views_are_refused(make_record):
    """As after an update of mixmood that chooses another view."""
    records = [
        RunRecord.model_validate_json(
            json.dumps(record.to_dict() | {"head": {"resolution": side, "depth": "last"}})
        )
        for record, side in zip(
            seeds_of(make_record, [[0.9, 0.8, 0.7]], [1, 2, 3]), (96, 96, 224), strict=True
        )
    ]
    with pytest.raises(InputError, match="seed 0 .* different views: 224 px, last; 96 px, last"):
        agreement_rows(records, "last")
    assert [row.view for row in accuracy_rows(records, "last")][1:] == [
        "96 px, last",
        "224 px, last",
    ]
