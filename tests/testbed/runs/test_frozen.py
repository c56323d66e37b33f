"""Runs on frozen features: splits and distances as from scratch, one accuracy, no epochs."""

import json

import pytest
from fuzz.tiny_bed import TINY

from mixmood.core.errors import OptionError
from mixmood.jobs.local import spread_local
from mixmood.report.testbed.export import records_csv_gz
from mixmood.report.testbed.sheet import render_sheet
from mixmood.report.testbed.sheets import SHEETS
from mixmood.testbed.analysis.overview import overview
from mixmood.testbed.analysis.tables import make_tables
from mixmood.testbed.grid.cells import CellFilter, cells, runs
from mixmood.testbed.grid.check import check_names
from mixmood.testbed.grid.config import parse_config
from mixmood.testbed.grid.estimate import estimate
from mixmood.testbed.runs import frozen as module
from mixmood.testbed.runs.driver import drive
from mixmood.testbed.runs.run import batches, execute, execute_batch, job_for
from mixmood.testbed.runs.store import Store
from mixmood.testbed.runs.tracking import metrics_of

ALGORITHMS = 'algorithms = ["mixmatch", "pseudo-label"]\n'
FROZEN = TINY.replace("[grid]\n", f'[grid]\nregimes = ["frozen"]\n{ALGORITHMS}') + (
    "\n[frozen]\nresolution = 64\n"
)


@pytest.fixture
def bed():
    return parse_config(FROZEN, "frozen")


@pytest.fixture
def jobs(bed, tmp_path):
    return [job_for(bed, run, cache=str(tmp_path / "cache")) for run in runs(bed, seeds=1)]


@pytest.fixture
def records(jobs):
    return [record for batch in batches(jobs) for record in execute_batch(batch)]


def without_times(record):
    content = {k: v for k, v in record.to_dict().items() if k != "times"}
    return json.dumps(content, sort_keys=True)


def test_there_is_one_supervised_baseline_and_every_cell_says_its_regime(bed):
    found = cells(bed)
    assert {cell.regime for cell in found} == {"frozen"}
    assert [cell.algorithm for cell in found if cell.is_supervised] == ["supervised"]
    assert len(found) == 1 + 2 * 3
    assert len(runs(bed, CellFilter.parse(["regime=frozen"]))) == 2 * len(found)
    with pytest.raises(OptionError, match="No cell of 'tiny' is left"):
        runs(bed, CellFilter.parse(["regime=scratch"]))


def test_a_record_has_one_accuracy_and_no_epochs(records):
    for record in records:
        assert list(record.accuracy.to_dict()) == ["test"]
        assert (record.training, record.epochs) == (None, [])
        assert record.accuracy.by("best") == record.accuracy.by("last") == record.accuracy.test
        assert (record.distances is None) == (record.run.algorithm == "supervised")
        assert record.to_dict()["run"]["regime"] == "frozen"
        assert record.head["backbone"] == "efficientnet-lite0"


def test_images_and_distances_are_those_of_the_other_regime(tiny, records):
    mine = next(r for r in records if (r.run.source, r.run.algorithm) == ("gaussian", "mixmatch"))
    (run,) = runs(tiny, CellFilter.parse(["source=gaussian"]), 1)
    theirs = execute(job_for(tiny, run, cache=None))
    assert (mine.scenario, mine.classes, mine.n_ood) == (
        theirs.scenario,
        theirs.classes,
        theirs.n_ood,
    )
    for name in ("distance", "spread", "signed", "p_wilcoxon", "p_permutation"):
        ours = getattr(mine.distances["cosine"], name)
        assert ours == getattr(theirs.distances["cosine"], name)


def test_distances_of_a_pool_are_computed_once_for_all_algorithms(jobs, monkeypatch):
    calls, compute = [], module.quickly_measured

    def counted(*arguments):
        calls.append(arguments)
        return compute(*arguments)

    monkeypatch.setattr(module, "quickly_measured", counted)
    found = [record for batch in batches(jobs) for record in execute_batch(batch)]
    assert len(calls) == 3  # clean, other half, noise
    assert len(found) == len(jobs) == 7


def test_features_in_the_cache_are_not_computed_again(jobs, records, monkeypatch):
    monkeypatch.setattr("mixmood.features.extraction.extract.embed_batches", lambda *_: 1 / 0)
    again = [record for batch in batches(jobs) for record in execute_batch(batch)]
    assert list(map(without_times, again)) == list(map(without_times, records))


def test_a_run_gives_the_same_record_alone_as_in_a_batch(jobs, records):
    by_key = {record.key: record for record in records}
    for job in jobs[-2:]:
        (alone,) = execute_batch([job])
        assert without_times(alone) == without_times(by_key[job.key])


def test_runs_from_scratch_are_never_batched(tiny):
    jobs = [job_for(tiny, run) for run in runs(tiny)]
    assert [len(batch) for batch in batches(jobs)] == [1] * len(jobs)


def test_a_key_depends_on_the_backbone_of_the_heads_and_not_on_training(bed):
    run = runs(bed)[0]
    other = bed.model_copy(update={"frozen": bed.frozen.model_copy(update={"resolution": 96})})
    trained = bed.training.model_copy(update={"epochs": 9})
    assert job_for(other, run).key != job_for(bed, run).key
    assert job_for(bed.model_copy(update={"training": trained}), run).key == job_for(bed, run).key


def test_a_failure_is_that_of_each_run(jobs, monkeypatch):
    monkeypatch.setattr("mixmood.testbed.runs.run.draw_split", lambda *_: 1 / 0)
    batch = batches(jobs)[-1]
    failed = execute_batch(batch)
    assert len(failed) == len(batch)
    assert all("ZeroDivisionError" in record.error.message for record in failed)


def test_an_algorithm_that_no_head_has_is_refused_before_the_first_run():
    text = FROZEN.replace("pseudo-label", "fixmatch")
    with pytest.raises(OptionError, match="Unknown algorithm of frozen features 'fixmatch'"):
        check_names(parse_config(text, "x"))


def test_scratch_has_no_baseline_called_supervised():
    text = TINY.replace('"supervised-epochs"', '"supervised"')
    with pytest.raises(OptionError, match="from scratch the baseline is supervised-epochs or"):
        parse_config(text, "x")


def test_a_store_of_both_regimes_has_tables_that_keep_them_apart(tmp_path, make_record, records):
    text = FROZEN.replace('regimes = ["frozen"]', 'regimes = ["scratch", "frozen"]')
    store = Store.make(tmp_path / "both", parse_config(text, "both"))
    data = next(record.data for record in records if record.run.source == "gaussian")
    scratch = make_record(source="gaussian", accuracy=0.25).model_copy(update={"data": data})
    for record in (*records, scratch):
        store.write(record)
    tables = make_tables(store, "last")
    assert {row.regime for row in tables.accuracies if row.is_best} == {"scratch", "frozen"}
    text = render_sheet(SHEETS[1](tables), "text")
    assert "supervised, frozen" in text
    assert "gaussian 100 %, scratch, mixmatch" in text
    assert "gaussian 100 %, frozen, pseudo-label" in text
    assert overview(store, "last").to_json()
    assert records_csv_gz(records)


def test_numbers_of_a_frozen_run_can_be_logged(records):
    names = [name for name, *_ in metrics_of(records[-1])]
    assert "accuracy_test" in names
    assert "cosine_distance" in names


def test_the_time_of_frozen_runs_is_estimated_without_a_network(jobs, monkeypatch):
    monkeypatch.setattr("mixmood.testbed.grid.estimate._start_s", lambda: 0.0)
    expected = estimate(jobs)
    assert expected.update_s is None
    assert expected.total_s > 0
    assert expected.run_s == pytest.approx(expected.total_s / len(jobs))


def test_the_driver_writes_every_run_of_a_batch(bed, jobs, records, tmp_path):
    store = Store.make(tmp_path / "store", bed)
    store.write(records[0])
    status = drive(jobs, store, spread_local, n_jobs=1)
    assert (status.n_earlier, status.n_done, status.n_left) == (1, len(jobs) - 1, 0)
    found = {record.key: without_times(record) for record in store.records()}
    assert found == {record.key: without_times(record) for record in records}
