import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from fuzz.tiny_bed import TINY

from mixmood.core.errors import InputError, OptionError
from mixmood.testbed.cells import CellFilter, runs
from mixmood.testbed.config import check_names, parse_config
from mixmood.testbed.record import RunRecord
from mixmood.testbed.results import by_epoch as by_choice
from mixmood.testbed.run import check_data, execute, job_for


@pytest.fixture
def job(tiny):
    """Makes the job of the first run that a selection leaves."""

    def make(*only, **options):
        return job_for(tiny, runs(tiny, CellFilter.parse(only))[0], cache=None, **options)

    return make


@pytest.fixture(scope="module")
def cold():
    """The record of a run with a pool of noise, made without a cache."""
    bed = parse_config(TINY, "tiny")
    (run, *_) = runs(bed, CellFilter.parse(["source=gaussian"]))
    return execute(job_for(bed, run, cache=None))


def without_times(record):
    content = {k: v for k, v in record.to_dict().items() if k != "times"}
    return json.dumps(content, sort_keys=True)


def changed(config, section, **values):
    return config.model_copy(update={section: getattr(config, section).model_copy(update=values)})


def test_a_record_holds_all_that_the_tables_need(cold):
    record = cold
    assert isinstance(record, RunRecord)
    assert set(record.accuracy.to_dict()) == {"best", "last", "median", "validation"}
    assert [epoch.epoch for epoch in record.epochs] == [1, 2]
    assert record.distances["cosine"].distance > 0
    assert (record.n_pool, record.n_ood) == (16, 16)
    assert record.versions["numpy"] != "none"
    assert json.dumps(record.to_dict(), allow_nan=False)


def test_the_best_epoch_is_chosen_for_each_arm_and_validation_images_choose_it_in_arm_a(cold):
    assert cold.arms["A"] == cold.accuracy
    for arm, by_epoch in cold.training.arms.items():
        found = cold.arms[arm]
        assert (found.best, found.last) == (max(by_epoch), by_epoch[-1])
    trained = SimpleNamespace(selected_epoch=1)
    assert by_choice([0.4, 0.7, 0.6], trained) == {
        "best": 0.7, "last": 0.6, "median": 0.6, "validation": 0.4,
    }  # fmt: skip


def test_the_same_job_gives_the_same_record_but_for_times(job, cold):
    assert without_times(execute(job("source=gaussian"))) == without_times(cold)
    assert "elapsed_s" not in without_times(cold)


def test_baselines_have_the_epochs_or_the_updates_of_the_others(tiny):
    baselines = ["supervised-epochs", "supervised-updates"]
    config = changed(tiny, "grid", baselines=baselines, tasks={"digits": ["gaussian"]})
    counts = {}
    for run in runs(config, seeds=1):
        record = execute(job_for(config, run, cache=None))
        counts[run.algorithm] = record.epochs[-1].n_updates
    # 10 labelled images are 1 batch, 16 unlabelled ones as well.
    assert counts == {"supervised-epochs": 2, "supervised-updates": 2, "mixmatch": 2}


def test_a_pool_made_larger_gets_no_more_updates(tiny):
    config = changed(tiny, "grid", contamination=["fixed-inliers"])
    run = runs(config, CellFilter.parse(["source=gaussian"]))[0]
    record = execute(job_for(config, run, cache=None))
    assert (record.n_pool, record.epochs[-1].n_updates) == (32, 2)


def test_features_are_shared_through_the_cache(tiny, tmp_path):
    run = runs(tiny, CellFilter.parse(["source=gaussian"]))[0]
    records = [execute(job_for(tiny, run, cache=str(tmp_path))) for _ in range(2)]
    assert without_times(records[0]) == without_times(records[1])
    assert list(tmp_path.iterdir())


def test_the_key_depends_on_configuration_run_and_data(tiny, job):
    run = runs(tiny)[0]
    keys = {
        job_for(tiny, run).key,
        job_for(tiny, replace(run, seed=7)).key,
        job_for(changed(tiny, "training", learning_rate=0.5), run).key,
        job_for(changed(tiny, "distances", draws=9), run).key,
    }
    assert len(keys) == 4
    assert job_for(changed(tiny, "grid", seeds=99), run).key in keys


def test_a_failure_is_a_record_too(job):
    record = execute(replace(job("source=gaussian"), device="quantum"))
    assert record.error.kind == "OptionError"
    assert "Unknown device 'quantum'" in record.error.message


def test_a_bug_is_recorded_with_its_traceback(job, monkeypatch):
    monkeypatch.setattr("mixmood.testbed.run.draw_split", lambda *_: 1 / 0)
    message = execute(job()).error.message
    assert "ZeroDivisionError" in message
    assert "Traceback" in message


def test_other_data_on_another_machine_are_noticed(job):
    record = execute(replace(job("source=gaussian"), data="other"))
    assert "not the same here as where the test bed was started" in record.error.message


@pytest.mark.parametrize(
    ("section", "values", "message"),
    [
        ("training", {"model": "wrm"}, "Unknown model 'wrm'"),
        ("training", {"augment": "flip"}, "Unknown augmentation 'flip'"),
        ("training", {"settings": {"mixmatch": {"gama": 1}}}, "Unknown setting of mixmatch"),
        ("grid", {"algorithms": ["mixmatsh"]}, "Unknown algorithm 'mixmatsh'"),
        ("distances", {"measures": ["cos"]}, "Unknown measure 'cos'"),
        ("distances", {"backbone": "efficient"}, "Unknown backbone 'efficient'"),
    ],
)
def test_unknown_names_are_found_before_the_first_run(tiny, section, values, message):
    with pytest.raises(OptionError, match=message):
        check_names(changed(tiny, section, **values))


def test_cells_that_the_data_are_too_small_for_are_found_before_the_first_run(tiny):
    too_many = changed(tiny, "grid", n_labelled=[10, 5000])
    with pytest.raises(InputError, match="5000 labelled and .* were wanted. Lower n_labelled"):
        check_data([job_for(too_many, run) for run in runs(too_many)])


def test_an_unknown_task_is_found_before_the_first_run(tiny):
    unknown = changed(tiny, "grid", tasks={"digitz": ["gaussian"]})
    with pytest.raises(OptionError, match="Unknown data set 'digitz'. Did you mean 'digits'"):
        [job_for(unknown, run) for run in runs(unknown)]


def test_a_pool_that_holds_no_sample_is_refused_before_the_first_run(tiny):
    """Each run would have looked for a sample of 80 in 50 images, without end."""
    config = changed(tiny, "grid", n_labelled=[10, 160])
    config = changed(changed(config, "split", n_unlabelled=50), "distances", sample_size=80)
    pooled = [job_for(config, run) for run in runs(config) if not run.cell.is_supervised]
    told = (
        r"Distances of digits with 160 labels are measured on samples of 80 images, but the pool "
        r"has only 50\. Let distances.sample_size be at most 50, or split.n_unlabelled at least 80"
    )
    with pytest.raises(OptionError, match=told):
        check_data(pooled)
    check_data([job for job in pooled if job.run.cell.n_labelled == 10])
    check_data([job_for(config, run) for run in runs(config) if run.cell.is_supervised])


def test_too_few_labels_to_measure_by_are_refused_before_the_first_run(tiny):
    config = changed(tiny, "grid", n_labelled=[5])
    with pytest.raises(InputError, match="Ranking needs at least .* labelled images; got 5"):
        check_data([job_for(config, run) for run in runs(config)])


def test_the_cache_is_closed_when_features_cannot_be_had(tiny, tmp_path, monkeypatch):
    closed = []
    monkeypatch.setattr("mixmood.core.cache.FeatureCache.close", lambda _: closed.append(True))
    monkeypatch.setattr("mixmood.features.extract.Extractor.read", lambda *_, **__: 1 / 0)
    job = next(
        job_for(tiny, run, cache=str(tmp_path / "cache"))
        for run in runs(tiny)
        if not run.cell.is_supervised
    )
    record = execute(job)
    assert "ZeroDivisionError" in record.error.message
    assert closed
