"""The record of a test bed's page, and the command that draws it."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import mixmood
from mixmood.cli.main import app
from mixmood.core.errors import InputError, OptionError
from mixmood.report.testbed import export
from mixmood.report.testbed.export import figures
from mixmood.testbed.analysis.agreement import (
    Chance,
    agreement_rows,
    chance_of_correlation,
    overall_rows,
)
from mixmood.testbed.analysis.overview import FailureCount, overview, overview_verdict
from mixmood.testbed.analysis.tables import make_tables
from mixmood.testbed.cells import CellFilter
from mixmood.testbed.config import parse_config
from mixmood.testbed.record import FailedRun, RunError
from mixmood.testbed.store import Store

EVIL = "<script>alert(1)</script>"
SOURCES = ("other_half", "gaussian", "salt_and_pepper")


@pytest.fixture
def grid(make_record):
    """Records of two numbers of labels: accuracy falls with cosine and rises with js."""

    def records(slope=-0.1, noise=0.0, seeds=3, task="digits"):
        rng = np.random.default_rng(0)
        return [
            make_record(
                task=task,
                source=source,
                n_labelled=n,
                seed=seed,
                accuracy=float(np.clip(0.7 + slope * place + noise * rng.normal(), 0, 1)),
                distances={"js": 5.0 - place, "cosine": 1.0 + place},
            )
            for n in (10, 20)
            for seed in range(seeds)
            for place, source in enumerate(SOURCES)
        ]

    return records


@pytest.fixture
def filled(store, grid):
    for record in grid(noise=0.01):
        store.write(record)
    return store


def with_last(record, value):
    accuracy = record.accuracy.model_copy(update={"last": value})
    return record.model_copy(update={"accuracy": accuracy})


def failure_of(record, message):
    return FailedRun(key=record.key, run=record.run, error=RunError(message=message))


def overall(records):
    return overall_rows(records, "last")


def typed(*words):
    result = CliRunner().invoke(app, ["testbed", "report", *map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stderr.replace("\n", " ")


def test_the_measure_with_the_lowest_mean_correlation_comes_first(grid):
    best, worst = overall(grid())
    assert (best.measure, best.pearson, best.n_groups, best.n_seeds) == (
        "cosine",
        pytest.approx(-1),
        2,
        3,
    )
    assert best.pearson_interval == pytest.approx((-1, -1), abs=0.001)
    assert (best.regret_points, best.regret_interval) == (0, pytest.approx((0, 0)))
    assert (worst.measure, worst.regret_points) == ("js", pytest.approx(20))


def test_means_are_those_of_the_rows_of_table_3_and_lie_in_their_intervals(grid):
    records = grid(noise=0.05, seeds=6)
    rows = agreement_rows(records, "last")
    for row in overall(records):
        own = [each.pearson for each in rows if each.measure == row.measure]
        assert row.pearson == pytest.approx(np.mean(own))
        low, high = row.pearson_interval
        assert -1 <= low < row.pearson < high <= 1


def test_a_single_group_has_the_intervals_of_its_row(grid):
    records = [r for r in grid(noise=0.05) if r.run.n_labelled == 10]
    (row, _), found = agreement_rows(records, "last"), overall(records)
    same = next(each for each in found if each.measure == row.measure)
    assert same.pearson_interval == row.pearson_interval


def test_a_seed_is_left_out_of_all_groups_that_have_it(grid):
    """Without the only seed of a group there is no mean: that seed counts in no interval."""
    records = grid(noise=0.05, seeds=4)
    row = overall([r for r in records if r.run.n_labelled == 10 or r.run.seed == 0])[0]
    assert row.n_seeds == 4
    assert all(np.isfinite(row.pearson_interval))


def test_one_seed_has_no_interval(grid):
    assert overall(grid(seeds=1))[0].pearson_interval is None


def test_a_group_whose_cells_are_alike_is_left_out_of_the_mean(grid):
    records = [with_last(r, 0.5) if r.run.n_labelled == 20 else r for r in grid()]
    row = overall(records)[0]
    assert row.pearson == pytest.approx(-1)
    assert row.pearson_interval == pytest.approx((-1, -1), abs=0.001)


def test_where_all_cells_are_alike_nothing_was_predicted(grid):
    records = grid(slope=0.0)
    (row, _) = overall(records)
    assert (row.pearson, row.pearson_interval) == (None, None)
    told = overview_verdict([row], chance_of_correlation(records, "last"))
    assert told == "Distances predicted nothing: all cells had the same accuracy."


@pytest.mark.parametrize(
    ("pearson", "interval", "luck", "text"),
    [
        (-0.8, (-0.9, -0.6), (0.02, 1.0), "NEARER (mean r = -0.80, p = 0.02)."),
        (-0.8, (-0.9, -0.6), (0.0002, 1.0), "NEARER (mean r = -0.80, p < 0.001)."),
        (-0.8, (-0.9, -0.6), (0.17, 1.0), "UNSURE (mean r = -0.80, p = 0.17)."),
        (0.5, (0.2, 0.6), (0.99, 0.02), "NOT NEARER (mean r = 0.50, p = 0.02)."),
        (0.5, (0.2, 0.6), (0.9, 0.2), "UNSURE (mean r = 0.50, p = 0.9)."),
        (-0.8, None, (0.001, 1.0), "UNSURE (mean r = -0.80 from only 2 seeds)."),
    ],
)
def test_the_verdict_says_no_more_than_chance_allows(grid, pearson, interval, luck, text):
    row = replace(overall(grid())[0], pearson=pearson, pearson_interval=interval, n_seeds=2)
    told = overview_verdict([row], Chance(*luck, 48)).replace("\u2212", "-")
    for words, short in (
        ("In these cells nearer pools gave better models; cosine predicted it best", "NEARER"),
        ("In these cells nearer pools gave no better models, not even by cosine", "NOT NEARER"),
        ("No measure reliably predicted accuracy in these cells; cosine came closest", "UNSURE"),
    ):
        told = told.replace(words, short)
    assert told == text


def test_without_rows_the_verdict_says_what_is_missing():
    assert "no task has three contaminated cells" in overview_verdict([], None)


def test_the_record_holds_the_tables_their_marks_and_their_origin(filled):
    record = overview(filled, "last")
    written = json.loads(record.to_json())
    assert [len(written[name]) for name in ("table1", "table2", "table3", "lines")] == [6, 12, 4, 4]
    assert sum(row.is_best for row in record.tables.accuracies) == 2
    assert all(row.is_significant for row in record.tables.distances)
    assert record.best_measure == "cosine"
    assert (record.n_runs, record.compute_s) == (18, 18.0)
    assert record.versions == {"mixmood": ["0.1.0"], "numpy": ["2"]}
    assert record.tables.gaps.describe().startswith("Incomplete: 4 of 8 runs are missing")
    assert "paper" not in written["table1"][0]


def test_lines_and_table_3_have_one_correlation_where_runs_are_missing(store, grid, monkeypatch):
    """The missing run is of the one seed that would turn the line over."""
    records = [
        with_last(r, 1 - r.accuracy.last) if r.run.seed == 2 else r for r in grid(noise=0.02)
    ]
    for record in records[:-1]:
        store.write(record)
    record = overview(store, "last")
    assert record.tables.agreements[-1].n_seeds == 2

    keys = ("task", "n_labelled", "algorithm", "contamination", "measure")
    told = {
        tuple(getattr(row, key) for key in keys): row.pearson for row in record.tables.agreements
    }
    drawn = {tuple(getattr(row, key) for key in keys): row.pearson for row in record.tables.lines}
    assert drawn == pytest.approx(told)
    monkeypatch.setattr(export, "FORMATS", ("svg",))
    svg = figures(make_tables(store, "last"))["accuracy_against_cosine.svg"].decode()
    assert f"r = {told['digits', 20, 'mixmatch', 'fixed-total', 'cosine']:.2f}" in svg


def test_the_paper_s_numbers_are_there_when_asked_for(store, make_record):
    store.write(make_record(task="mnist", source="svhn", percent=100, n_labelled=60))
    record = overview(store, "last", beside_paper=True)
    assert record.tables.accuracies[0].paper == 0.482
    assert record.tables.distances[0].paper > 0


def test_failures_are_counted_by_what_went_wrong(filled, make_record):
    for seed in range(3):
        failed = make_record(source="photo_patches", seed=seed)
        text = "Traceback\nValueError: no luck" if seed else "bad luck"
        filled.write(failure_of(failed, text))
    record = overview(filled, "last")
    assert record.tables.gaps.n_failed == 3
    assert record.failures[0] == FailureCount("ValueError: no luck", 2)
    some = overview(filled, "last", CellFilter.parse(["source=gaussian"]))
    assert some.failures == []


def test_a_store_whose_runs_all_failed_says_so(store, make_record):
    store.write(failure_of(make_record(), "x"))
    with pytest.raises(InputError, match="All runs in the store .* failed. See why with"):
        overview(store, "last")


def test_an_empty_store_has_no_page(store):
    with pytest.raises(InputError, match="has no finished runs of the cells asked for"):
        overview(store, "last")


def test_a_store_without_measures_has_a_page(store, make_record):
    store.write(make_record(algorithm="supervised-epochs", source="none", percent=0))
    page = mixmood.report_testbed(store.folder)
    assert "nothing to correlate" in page


def test_hostile_names_of_a_toml_file_arrive_escaped(tmp_path, grid):
    text = f"""
name = "evil"
[grid]
n_labelled = [10]
[grid.tasks]
"{EVIL}" = ["{EVIL}", "gaussian"]
"""
    store = Store.make(tmp_path / "evil", parse_config(text, "evil.toml"))
    for record in grid(task=EVIL):
        store.write(record)
    page = mixmood.report_testbed(store.folder)
    assert EVIL not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_the_command_writes_the_page(filled, tmp_path):
    out = tmp_path / "page.html"
    code, err = typed("--store", filled.folder, "--html", out, "--selection", "best")
    assert (code, "The page is in" in err) == (0, True)
    text = out.read_text("utf-8")
    assert "best on the test images, as in the paper; this is optimistic" in text
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_the_command_takes_some_cells(filled, tmp_path):
    out = tmp_path / "page.html"
    assert typed("--store", filled.folder, "--html", out, "--only", "n_labelled=10")[0] == 0
    assert ">20 labels<" not in out.read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--html", "page.txt"), 2, "The page needs a name that ends in .html; got 'page.txt'"),
        (("--html", "no/page.html"), 1, "/no does not exist. Make it first."),
        (("--html", "page.html"), 1, "is no store of a test bed"),
        (("--html", "page.html", "--only", "tsk=mnist"), 1, "is no store of a test bed"),
        ((), 2, "Missing option '--html'"),
    ],
)
def test_misuse_is_told_in_one_line(tmp_path, monkeypatch, words, code, message):
    monkeypatch.chdir(tmp_path)
    found, err = typed("--store", tmp_path / "store", *words)
    assert (found, message in err) == (code, True)
    assert not (tmp_path / "page.html").exists()


def test_an_unknown_selection_is_refused(filled):
    with pytest.raises(OptionError, match="Unknown selection 'lst'"):
        mixmood.report_testbed(filled.folder, selection="lst")


def test_a_page_that_cannot_be_written_is_told_before_the_store_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("mixmood.api.testbed.report_testbed", lambda *_, **__: pytest.fail("read"))
    (tmp_path / "page.html").mkdir()
    code, err = typed("--store", tmp_path, "--html", tmp_path / "page.html")
    assert (code, "it is a directory" in err) == (1, True)
