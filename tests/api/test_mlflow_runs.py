"""`--mlflow URI`: rankings, filters and heads as runs."""

import os
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import mixmood
from mixmood.api.mlflow_runs import metric_name
from mixmood.core import mlflow_log
from mixmood.core.errors import MissingExtraError, OutputError

# MLflow takes seconds to import: not where tests are only collected.
pytestmark = pytest.mark.skipif(find_spec("mlflow") is None, reason="MLflow is not installed")
QUICK = {"draws": 4, "probe": False, "jobs": 1}


@pytest.fixture(scope="module")
def uri(tmp_path_factory, mlflow_database):
    """One file for all tests: to make its tables takes a second."""
    mlflow_database(place := tmp_path_factory.mktemp("mlflow") / "runs.db")
    return f"sqlite:///{place}"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """MLflow puts files beside where it is called."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def features():
    rng = np.random.default_rng(0)
    return rng.normal(size=(24, 5)), rng.normal(0.2, size=(60, 5))


@pytest.mark.filterwarnings("ignore")
def latest(uri):
    """The run that was logged last, and its files."""
    from mlflow.tracking import MlflowClient

    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name(mlflow_log.EXPERIMENT)
    run = client.search_runs([experiment.experiment_id], max_results=1)[0]
    return run, {file.path for file in client.list_artifacts(run.info.run_id)}


@pytest.mark.filterwarnings("ignore")
def test_a_ranking_is_logged_with_numbers_of_each_pool_record_and_page(uri, features):
    labelled, pool = features
    report = mixmood.rank(labelled, {"web (new)": pool, "web [new]": pool + 1}, mlflow=uri, **QUICK)
    run, files = latest(uri)
    assert (run.info.status, run.info.run_name) == ("FINISHED", f"rank {report.labelled.name}")
    assert run.data.params["best"] == report.best
    assert run.data.tags["mixmood.kind"] == "rank"
    metrics = run.data.metrics
    assert metrics["cosine/web _new_"] == report.candidates[0].distance
    assert metrics["cosine/web _new__2"] == report.candidates[1].distance, "alike but for signs"
    assert metrics["p_best/web _new_"] == report.candidates[0].p_best
    assert files == {"ranking.json", "ranking.csv", "ranking.html"}


@pytest.mark.filterwarnings("ignore")
def test_a_filter_is_logged_with_its_list(uri, features, tmp_path):
    for name, rows in zip(("labelled", "pool"), features, strict=True):
        np.save(f"{name}.npy", rows)
    kept = mixmood.filter("labelled.npy", "pool.npy", out="kept.csv", keep="0.5", mlflow=uri)
    run, files = latest(uri)
    assert run.data.params["keep"] == "0.5"
    assert run.data.metrics["n_kept"] == kept.record.n_kept
    assert run.data.metrics["useful_share"] == pytest.approx(kept.useful_share.share)
    assert files == {"filter.json", "filter.html", "kept.csv"}


@pytest.mark.filterwarnings("ignore")
def test_a_head_is_logged_with_its_files(uri, tmp_path):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 80, (12, 8, 8, 3), dtype=np.uint8)
    images[::2, :, :, 0] += 150
    pairs = [(image, place % 2) for place, image in enumerate(images)]
    trained = mixmood.train(pairs, out=tmp_path / "run", mlflow=uri, algorithm="supervised")
    run, files = latest(uri)
    assert run.data.params["algorithm"] == "supervised"
    found = run.data.metrics["accuracy_cross_validated"]
    assert found == trained.record.accuracy.cross_validated
    assert files == {"record.json", "report.html", "model.onnx"}


def test_a_server_that_cannot_be_used_is_an_error_before_any_image_is_read(features):
    with pytest.raises(OutputError, match="Cannot log to MLflow at nonsense://x: "):
        mixmood.rank("no such folder", [features[1]], mlflow="nonsense://x")


def test_without_mlflow_the_extra_is_named(features, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow.tracking", None)
    with pytest.raises(MissingExtraError, match=r"--mlflow needs .*mixmood\[train\]"):
        mixmood.rank(*features, mlflow="sqlite:///x.db")


def test_the_number_of_retries_is_the_users_own_where_it_is_set(monkeypatch):
    monkeypatch.delenv(mlflow_log.RETRIES, raising=False)
    seen = {}
    with mlflow_log.few_retries():
        seen["unset"] = os.environ[mlflow_log.RETRIES]
    assert mlflow_log.RETRIES not in os.environ
    monkeypatch.setenv(mlflow_log.RETRIES, "5")
    with mlflow_log.few_retries():
        seen["set"] = os.environ[mlflow_log.RETRIES]
    assert seen == {"unset": "1", "set": "5"}


def test_names_of_metrics_keep_what_mlflow_takes():
    assert metric_name("gain/x-1_a.b c") == "gain/x-1_a.b c"
    assert metric_name("gain/\u00e9:*") == "gain/___"
