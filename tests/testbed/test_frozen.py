"""Runs on frozen features: splits and distances as from scratch, one accuracy, no epochs."""

import json
from collections import Counter

import numpy as np
import pytest
from fuzz.tiny_bed import FROZEN

from mixmood.core.errors import OptionError
from mixmood.core.seeds import rng_for
from mixmood.evidence.gain import PoolEffect, gain_of
from mixmood.evidence.labelled import LabelledEvidence
from mixmood.heads.registry import fit_head
from mixmood.jobs.local import spread_local
from mixmood.report.testbed.export import flat, records_csv_gz
from mixmood.report.testbed.sheets import SHEETS, render_sheet
from mixmood.testbed import results
from mixmood.testbed.analysis.overview import overview
from mixmood.testbed.analysis.tables import make_tables
from mixmood.testbed.cells import CellFilter, runs
from mixmood.testbed.config import parse_config
from mixmood.testbed.driver import drive, metrics_of
from mixmood.testbed.results import FrozenPool, frozen_results
from mixmood.testbed.run import batches, execute, execute_batch, job_for
from mixmood.testbed.store import Store


@pytest.fixture(scope="module")
def bed():
    return parse_config(FROZEN, "frozen")


@pytest.fixture(scope="module")
def jobs(bed, tmp_path_factory):
    cache = str(tmp_path_factory.mktemp("cache"))
    return [job_for(bed, run, cache=cache) for run in runs(bed, seeds=1)]


@pytest.fixture(scope="module")
def executed(jobs):
    """The records of all runs, and how often distances and shares were computed for them."""
    n_calls = Counter()

    def counted(place, name):
        compute = getattr(place, name)
        return lambda *given: n_calls.update([name]) or compute(*given)

    with pytest.MonkeyPatch.context() as patch:
        for place, name in ((results, "distances_between"), (LabelledEvidence, "part")):
            patch.setattr(place, name, counted(place, name))
        records = [record for batch in batches(jobs) for record in execute_batch(batch)]
    return records, n_calls


@pytest.fixture(scope="module")
def records(executed):
    return executed[0]


def without_times(record):
    content = {k: v for k, v in record.to_dict().items() if k != "times"}
    return json.dumps(content, sort_keys=True)


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
    for name in ("distance", "spread", "signed", "p_wilcoxon"):
        ours = getattr(mine.distances["cosine"], name)
        assert ours == getattr(theirs.distances["cosine"], name)


def test_distances_and_share_of_a_pool_are_computed_once_for_all_algorithms(executed, jobs):
    records, n_calls = executed
    assert n_calls == {"distances_between": 3, "part": 3}  # clean, other half, noise
    assert len(records) == len(jobs) == 7


def test_a_record_has_share_and_probe_of_its_own_algorithm(records):
    for record in records:
        if record.run.is_supervised:
            assert (record.useful_share, record.probe) == (None, None)
            continue
        low, high = record.useful_share.interval
        assert 0 <= low <= record.useful_share.share <= high <= 1
        probe = record.probe
        assert probe.algorithm == record.run.algorithm
        assert probe.interval[0] < probe.gain < probe.interval[1]
        assert record.accuracy.test == pytest.approx(
            sum(record.test_halves) / 2, abs=1 / record.n_test
        )


def test_the_gain_of_a_record_follows_from_what_the_labelled_evidenced(records):
    """So that another map can be applied to records that were made with this one."""
    record = next(record for record in records if record.probe)
    probe = record.probe
    effect = PoolEffect(probe.change, probe.error, probe.unrest, probe.accuracy)
    right = probe.supervised / 100
    again = gain_of(effect, record.useful_share.share, right, probe.algorithm)
    assert again.points == pytest.approx(probe.gain)
    assert again.interval == pytest.approx(probe.interval)


def test_the_view_of_heads_is_chosen_and_recorded_and_distances_are_of_the_last_layer(bed):
    section = bed.frozen.model_copy(update={"resolution": 64, "depth": "auto"})
    own = bed.model_copy(update={"frozen": section})
    (run,) = runs(own, CellFilter.parse(["source=gaussian,algorithm=pseudo-label"]), 1)
    job = job_for(own, run)
    pool = FrozenPool(job)
    record, network = frozen_results(job, pool), pool.network
    assert (record["head"]["resolution"], record["head"]["depth"]) == (64, network.view.depth)
    assert pool.unlabelled.features.shape[1] == network.width
    last = own.model_copy(update={"frozen": section.model_copy(update={"depth": "last"})})
    last_job = job_for(last, run)
    other = frozen_results(last_job, FrozenPool(last_job))
    assert other["distances"] == record["distances"]


def test_the_size_of_the_pool_is_an_axis_of_the_grid(bed, jobs):
    grid = bed.grid.model_copy(update={"n_unlabelled": [30, 60], "seeds": 2})
    own = bed.model_copy(update={"grid": grid})
    only = CellFilter.parse(["algorithm=mixmatch,algorithm=supervised,n_unlabelled=30"])
    with pytest.raises(OptionError, match="n_unlabelled"):
        runs(own, CellFilter.parse(["n_unlabelled=31"]))
    sizes = [run.scenario(own).n_unlabelled for run in runs(own, only)]
    assert set(sizes) == {30}
    one = CellFilter.parse(["source=gaussian,algorithm=pseudo-label"])
    found = [execute(job_for(own, run)) for run in runs(own, one, seeds=1)]
    assert {(r.run.n_unlabelled, r.n_pool) for r in found} == {(30, 30), (60, 60)}
    keys = {job_for(bed, run).key for run in runs(bed, seeds=1)}
    assert keys == {job.key for job in jobs}, "grids without the axis keep their keys"


def test_heads_of_one_pool_are_those_of_separate_fits(jobs, records):
    job = next(job for job in jobs if job.run.source == "gaussian")
    pool = FrozenPool(job)
    for record in records:
        run = record.run
        if run.source == "gaussian":
            rng = rng_for(run.seed, "head", run.algorithm)
            head = fit_head(
                run.algorithm,
                pool.labelled.features,
                pool.split.labels,
                5,
                pool.unlabelled.features,
                rng,
            )
            assert np.mean(head.predict(pool.test.features) == pool.split.test_labels) == (
                record.accuracy.test
            )


def test_features_in_the_cache_are_not_computed_again(jobs, records, monkeypatch):
    """Those of a clean pool are labelled, test and pool images."""
    monkeypatch.setattr("mixmood.features.extract.embed_batch", lambda *_: 1 / 0)
    by_key = {record.key: record for record in records}
    for record in execute_batch(batches(jobs)[-1]):
        assert without_times(record) == without_times(by_key[record.key])


def test_a_run_gives_the_same_record_alone_as_in_a_batch(jobs, records):
    by_key = {record.key: record for record in records}
    (alone,) = execute_batch(jobs[-1:])
    assert without_times(alone) == without_times(by_key[jobs[-1].key])


def test_a_failure_is_that_of_each_run(jobs, monkeypatch):
    monkeypatch.setattr("mixmood.testbed.run.draw_split", lambda *_: 1 / 0)
    batch = batches(jobs)[-1]
    failed = execute_batch(batch)
    assert len(failed) == len(batch)
    assert all("ZeroDivisionError" in record.error.message for record in failed)


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
    assert {"useful_share", "probe_change", "probe_gain"} <= set(names)


def test_share_and_probe_are_in_the_table_of_records_with_six_digits(records):
    record = next(record for record in records if record.probe)
    row = flat(record)
    assert row["share"] == pytest.approx(record.useful_share.share, rel=1e-5)
    assert row["probe_change"] == float(f"{record.probe.change:.6g}")
    assert row["probe_algorithm"] == record.run.algorithm
    assert len(row["share_interval"]) == 2
    assert row["accuracy_half_2"] == record.test_halves[1]


def test_the_driver_writes_every_run_of_a_batch(bed, jobs, records, tmp_path):
    """Two runs of one pool, and a run without a pool that was done before."""
    store, by_key = Store.make(tmp_path / "store", bed), {record.key: record for record in records}
    alone = next(job for job in jobs if job.run.is_supervised)
    store.write(by_key[alone.key])
    pair = next(batch for batch in batches(jobs) if len(batch) == 2)
    status = drive([alone, *pair], store, spread_local, n_jobs=1)
    assert (status.n_earlier, status.n_done, status.n_left) == (1, 2, 0)
    found = {record.key: without_times(record) for record in store.records()}
    assert found == {job.key: without_times(by_key[job.key]) for job in (alone, *pair)}
