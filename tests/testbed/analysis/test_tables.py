"""Tables from records made of the paper's own numbers, and from gaps."""

import csv
import io
import json
import os
from dataclasses import replace

import numpy as np
import pytest

from mixmood.core.errors import InputError, OptionError
from mixmood.report.testbed import export
from mixmood.report.testbed.export import figures, records_csv_gz
from mixmood.report.testbed.sheets import (
    accuracy_sheet,
    agreement_sheet,
    distance_sheet,
    render_sheet,
    to_csv,
)
from mixmood.testbed.analysis.tables import (
    Gaps,
    accuracy_rows,
    chosen_records,
    distance_rows,
    gaps,
    make_tables,
    paper_table,
)
from mixmood.testbed.cells import CellFilter
from mixmood.testbed.config import load_config
from mixmood.testbed.record import FailedRun, RunError
from mixmood.testbed.store import Store

MEASURES = ("l1", "l2", "js", "cosine")


@pytest.fixture
def paper(tmp_path, make_record):
    """A store whose every cell has one run with the numbers that the paper prints."""
    store = Store.make(tmp_path / "paper", load_config("paper"))
    distances = paper_table("table2_distances")
    for (task, source, percent, n), accuracy in paper_table("table1_accuracy").items():
        is_supervised = source == "supervised"
        found = {m: distances.get((task, source, percent, m), 0.1) for m in MEASURES}
        store.write(
            make_record(
                task=task,
                source="none" if is_supervised else source,
                percent=percent,
                n_labelled=n,
                accuracy=accuracy,
                distances=found,
                algorithm="supervised-epochs" if is_supervised else "mixmatch",
            )
        )
    return store


def failed(record, message):
    return FailedRun(key=record.key, run=record.run, error=RunError(message=message))


def test_table_3_of_the_paper_comes_out_of_its_tables_1_and_2(paper):
    """31 of 36 values within 0.0016; the other five hang on a slip in the paper's Table 2."""
    rows = make_tables(paper, "last").agreements
    off = [
        abs(row.pearson - paper_table("table3_correlations")[row.task, row.n_labelled, row.measure])
        for row in rows
    ]
    assert len(rows) == 36
    assert sum(value <= 0.0016 for value in off) == 31
    assert max(off) < 0.0125


def test_the_paper_s_regret_by_cosine_is_1_4_points_on_average(paper):
    rows = [row for row in make_tables(paper, "last").agreements if row.measure == "cosine"]
    assert np.mean([row.regret_points for row in rows]) == pytest.approx(1.4, abs=0.05)


def test_table_1_stands_beside_the_paper_s_with_differences_of_nothing(paper):
    sheet = accuracy_sheet(make_tables(paper, "last", beside_paper=True))
    differences = {row[5].text for row in sheet.rows} | {row[8].text for row in sheet.rows}
    assert differences == {"+0.000"}
    assert sheet.columns[:6] == ["task", "type", "pool", "n=60", "paper", "diff"]


def test_tables_2_and_3_stand_beside_the_paper_s(paper):
    tables = make_tables(paper, "last", beside_paper=True)
    distances = distance_sheet(tables)
    svhn = next(row for row in distances.rows if row[2].text == "svhn 50 %")
    assert svhn[1].text == "Sim"
    assert svhn[6].text == "+0.000"
    agreements = agreement_sheet(tables)
    assert agreements.columns[3:6] == ["Pearson", "paper", "diff"]


def test_the_best_of_each_column_is_marked_once(paper):
    sheet = accuracy_sheet(make_tables(paper, "last", CellFilter.parse(["task=mnist"])))
    for column in (3, 4, 5):
        assert sum(row[column].is_best for row in sheet.rows) == 1


def test_means_and_spreads_are_over_seeds(make_record):
    records = [make_record(seed=seed, accuracy=value) for seed, value in enumerate((0.5, 0.7))]
    (row,) = accuracy_rows(records, "last")
    assert row.accuracy_mean == pytest.approx(0.6)
    assert row.accuracy_spread == pytest.approx(np.sqrt(0.02))
    assert accuracy_rows(records[:1], "last")[0].accuracy_spread is None


def test_a_distance_is_weak_when_the_median_run_cannot_see_it(make_record):
    records = [make_record(seed=seed, p_value=p) for seed, p in enumerate((0.5, 0.2, 0.001))]
    assert not distance_rows(records)[0].is_significant
    assert distance_rows(records[2:])[0].is_significant
    even = [make_record(seed=seed, p_value=p) for seed, p in enumerate((0.01, 0.06))]
    assert distance_rows(even)[0].is_significant


def test_one_missing_run_is_described_in_the_singular():
    assert Gaps(8, 1, 0, ()).describe() == "Incomplete: 1 of 8 runs is missing."


def test_a_grid_with_gaps_says_so(store, make_record):
    store.write(make_record(source="gaussian"))
    store.write(failed(make_record(source="other_half"), "x"))
    tables = make_tables(store, "last")
    told = "Incomplete: 7 of 8 runs are missing, 1 of them failed; 3 cells have no run at all."
    assert tables.gaps.describe() == told
    text = render_sheet(accuracy_sheet(tables), "text")
    assert "0.500 (1 run)" in text
    assert told in text
    assert gaps(store, CellFilter.parse(["source=gaussian"])).n_missing == 1


def test_runs_with_data_that_have_changed_are_not_averaged_with_the_others(store, make_record):
    """The old ones are whatever was written before; keys do not tell."""
    for age, (data, accuracy) in enumerate((("new", 0.5), ("old", 0.9))):
        for seed in range(2):
            made = make_record(seed=seed, accuracy=accuracy)
            record = made.model_copy(update={"data": data, "key": f"{age}{seed}".zfill(20)})
            store.write(record)
            path = store.folder / "runs" / f"{record.key}.json"
            os.utime(path, (1000 - 100 * age, 1000 - 100 * age))
    store.write(make_record(source="other_half", seed=1).model_copy(update={"data": "other"}))
    tables = make_tables(store, "last")
    assert {row.source: row.accuracy_mean for row in tables.accuracies} == {
        "gaussian": 0.5,
        "other_half": 0.5,
    }
    assert tables.gaps.n_outdated == 2
    assert tables.gaps.describe().endswith(
        "Data sets changed while the store was filled: 2 runs with earlier ones are left out."
    )
    assert tables.gaps.n_missing == 5
    assert "2 runs with earlier ones" in render_sheet(accuracy_sheet(tables), "text")
    assert gaps(store, CellFilter.parse(["source=other_half"])).n_outdated == 0


def test_missing_cells_are_dashes(paper):
    (paper.folder / "runs").glob("*.json")
    for path in (paper.folder / "runs").glob("*.json"):
        run = json.loads(path.read_text())["run"]
        if run["source"] == "svhn" and run["n_labelled"] == 60:
            path.unlink()
    sheet = accuracy_sheet(make_tables(paper, "last"))
    assert next(row for row in sheet.rows if row[2].text == "svhn 50 %")[3].text == "-"


def test_a_whole_grid_has_no_gaps_to_tell(store):
    assert gaps(store).n_missing == 8
    assert gaps(store).describe().startswith("Incomplete: 8 of 8")


def test_an_empty_store_has_no_tables(store):
    with pytest.raises(InputError, match="has no finished runs of the cells asked for"):
        chosen_records(store)


def test_an_unknown_selection_is_refused(make_record):
    with pytest.raises(OptionError, match="Unknown selection 'lst'. Did you mean 'last'"):
        accuracy_rows([make_record()], "lst")
    made = make_record()
    accuracy = made.accuracy.model_copy(update={"validation": None})
    record = made.model_copy(update={"accuracy": accuracy})
    with pytest.raises(InputError, match="had no validation images"):
        accuracy_rows([record], "validation")


def test_correlate_reads_from_csv_what_the_test_bed_correlates(paper, make_record, tmp_path):
    """Distances differ between numbers of labels and between algorithms, and 0 % is there."""
    from mixmood.testbed.analysis.correlate import agreements, read_accuracies, read_distances

    rng = np.random.default_rng(0)
    for record in [*paper.records()]:
        if not record.run.is_supervised:
            far = {measure: float(rng.uniform()) for measure in MEASURES}
            keys = ("task", "source", "percent", "n_labelled")
            own = {key: getattr(record.run, key) for key in keys}
            for algorithm in ("mixmatch", "fixmatch"):
                made = make_record(
                    **own, accuracy=float(rng.uniform()), distances=far, algorithm=algorithm
                )
                paper.write(made)
    tables = make_tables(paper, "last")
    content = tables.to_dict()
    for number in (1, 2):
        (tmp_path / f"table{number}.csv").write_text(to_csv(content[f"table{number}"]))
    accuracies = read_accuracies(tmp_path / "table1.csv")
    found = agreements(accuracies, read_distances(tmp_path / "table2.csv"))
    assert 0.0 in {row.pool[1] for row in accuracies}
    assert len(found) == len(tables.agreements) == 72
    for ours, theirs in zip(_in_order(found), _in_order(tables.agreements), strict=True):
        assert _key(ours) == _key(theirs)
        assert ours.pearson == pytest.approx(theirs.pearson)
        assert ours.spearman == pytest.approx(theirs.spearman)
        assert ours.regret_points == pytest.approx(theirs.regret_points)
        assert ours.n_cells == theirs.n_cells == 10


def _key(row):
    return row.task, row.n_labelled, row.algorithm, row.contamination, row.measure


def _in_order(rows):
    return sorted(rows, key=_key)


def test_records_become_one_flat_file(paper):
    import gzip

    content = records_csv_gz(paper.records())
    rows = list(csv.DictReader(io.StringIO(gzip.decompress(content).decode())))
    assert len(rows) == 108
    assert {"task", "accuracy_last", "cosine_distance", "accuracy_by_epoch"} <= set(rows[0])
    assert content == records_csv_gz(paper.records())


def test_figures_are_drawn_for_every_measure_in_both_formats(paper, monkeypatch):
    tables = make_tables(paper, "last", CellFilter.parse(["task=mnist,n_labelled=60"]))
    two = [row for row in tables.distances if row.measure in ("cosine", "l2")]
    drawn = figures(replace(tables, distances=two))
    assert len(drawn) == 2 * (2 + 1)
    assert drawn["accuracy_against_cosine.png"].startswith(b"\x89PNG")
    svg = drawn["accuracy_against_percent.svg"].decode()
    assert "<svg" in svg
    monkeypatch.setattr(export, "FORMATS", ("svg",))
    again = figures(replace(tables, distances=[]))
    assert drawn["accuracy_against_percent.svg"] == again["accuracy_against_percent.svg"]


def test_a_figure_has_the_baselines_of_one_regime(paper, monkeypatch):
    """The supervised accuracy of another regime is no baseline of these pools."""
    monkeypatch.setattr(export, "FORMATS", ("svg",))
    tables = make_tables(paper, "last", CellFilter.parse(["task=mnist,n_labelled=60"]))
    alone = replace(tables, distances=[])
    others = [replace(row, regime="frozen", accuracy_mean=0.9) for row in tables.accuracies]
    both = replace(alone, accuracies=[*tables.accuracies, *others])
    name = "accuracy_against_percent.svg"
    assert figures(both)[name] == figures(alone)[name]
