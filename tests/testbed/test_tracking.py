import sys

import pytest

from mixmood.core.errors import MissingExtraError, OutputError
from mixmood.core.listener import Recorder
from mixmood.testbed.cells import runs
from mixmood.testbed.driver import Tracker, metrics_of, record_logger
from mixmood.testbed.record import FailedRun, RunError
from mixmood.testbed.run import failure, job_for

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture(autouse=True)
def database(tmp_path, mlflow_database):
    mlflow_database(tmp_path / "mlflow.db")


def logged(folder):
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{folder / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("mixmood-tiny")
    return client, client.search_runs([experiment.experiment_id])


@pytest.mark.slow
def test_every_record_is_logged_once(tmp_path, make_record):
    records = [make_record(seed=seed, accuracy=0.5 + seed / 10) for seed in range(2)]
    for _ in range(2):
        tracker = Tracker("default", "tiny", tmp_path)
        for record in records:
            tracker.log(record)
            tracker.log(record)
    client, found = logged(tmp_path)
    assert len(found) == 2
    one = next(run for run in found if run.data.params["seed"] == "1")
    assert one.data.params["source"] == "gaussian"
    assert one.data.metrics["accuracy_last"] == pytest.approx(0.6)
    assert one.data.metrics["cosine_distance"] == 1.0
    assert one.data.tags["mixmood.key"] == records[1].key
    steps = [point.step for point in client.get_metric_history(one.info.run_id, "test_accuracy")]
    assert steps == [1]


@pytest.mark.slow
def test_a_failed_run_is_logged_as_failed(tmp_path, tiny):
    record = failure(job_for(tiny, runs(tiny)[0]), ValueError("no luck"))
    Tracker("default", "tiny", tmp_path).log(record)
    (run,) = logged(tmp_path)[1]
    assert run.info.status == "FAILED"
    assert "no luck" in run.data.tags["mixmood.error"]


@pytest.mark.slow
def test_a_run_that_failed_and_then_succeeds_is_logged_as_both(tmp_path, make_record):
    record = make_record()
    failed = FailedRun(key=record.key, run=record.run, error=RunError(message="no luck"))
    for _ in range(2):
        Tracker("default", "tiny", tmp_path).log(failed)
    for _ in range(2):
        Tracker("default", "tiny", tmp_path).log(record)
    assert sorted(run.info.status for run in logged(tmp_path)[1]) == ["FAILED", "FINISHED"]


@pytest.mark.slow
@pytest.mark.parametrize("step", ["create_run", "log_batch", "set_terminated"])
def test_a_run_that_was_logged_in_part_is_logged_again(tmp_path, make_record, monkeypatch, step):
    from mlflow.exceptions import MlflowException
    from mlflow.tracking import MlflowClient

    def down(*_, **__):
        raise MlflowException("the server is down")

    record = make_record()
    tracker = Tracker("default", "tiny", tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, step, down)
        with pytest.raises(OutputError, match=r"Cannot log to MLflow at sqlite.*server is down"):
            tracker.log(record)
    tracker.log(record)
    Tracker("default", "tiny", tmp_path).log(record)
    done = [run for run in logged(tmp_path)[1] if run.info.status == "FINISHED"]
    assert len(done) == 1
    assert done[0].data.metrics["accuracy_last"] == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ConnectionResetError, TimeoutError])
def test_a_server_that_goes_away_is_told_once_and_the_run_goes_on(
    store, make_record, mlflow_database, monkeypatch, kind
):
    mlflow_database(store.folder / "mlflow.db")

    def down(*_, **__):
        raise kind("gone")

    said = Recorder()
    for seed in range(2):
        store.write(make_record(seed=seed))
    with monkeypatch.context() as patch:
        patch.setattr("mlflow.tracking.MlflowClient.log_batch", down)
        log = record_logger("default", store, said)
        log(None)
        log(make_record(seed=2))
    assert len(said.warnings) == 1
    assert said.warnings[0].startswith("Cannot log to MLflow at")
    assert "logged at the next start" in said.warnings[0]
    store.write(make_record(seed=2))
    record_logger("default", store, said)
    runs_there = [run.info.status for run in logged(store.folder)[1]]
    assert runs_there.count("FINISHED") == 3


def test_metrics_are_told_by_epoch_and_at_the_end(make_record):
    rows = metrics_of(make_record(accuracy=0.7))
    assert ("test_accuracy", 0.7, 0, 1) in rows
    assert ("accuracy_best", 0.7, 0, 0) in rows
    assert not [row for row in rows if row[1] is None]


@pytest.mark.slow
def test_a_place_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="Cannot log to MLflow at"):
        Tracker("nonsense://x", "tiny", tmp_path)


def test_mlflow_is_an_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow.tracking", None)
    with pytest.raises(MissingExtraError, match=r"--mlflow needs.*mixmood\[train\]"):
        Tracker("default", "tiny", tmp_path)
