"""The same parameters and metrics for MLflow: an experiment per test bed, a run per run."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mixmood.core.errors import MissingExtraError, OutputError
from mixmood.testbed.runs.store import Record

DEFAULT = "default"
MOST_AT_ONCE = 1000
KEY = "mixmood.key"


class Tracker:
    """Logs records to an MLflow server, each once."""

    def __init__(self, uri: str, experiment: str, folder: Path) -> None:
        """Find or make the experiment; the uri `default` is a SQLite file in `folder`."""
        try:
            from mlflow.tracking import MlflowClient
        except ImportError as error:
            raise MissingExtraError("--mlflow", "train") from error
        self._place = f"sqlite:///{(folder / 'mlflow.db').resolve()}" if uri == DEFAULT else uri
        name = f"mixmood-{experiment}"
        with self._told():
            self._client = MlflowClient(tracking_uri=self._place)
            found = self._client.get_experiment_by_name(name)
            self._experiment = found.experiment_id if found else self._make(name, uri, folder)
            self._logged = {(run.data.tags.get(KEY), run.info.status) for run in self._runs()}

    def log(self, record: Record) -> None:
        """Log a record, unless it was logged before; failed runs are logged as failed."""
        status = "FAILED" if "error" in record else "FINISHED"
        if (record["key"], status) not in self._logged:
            with self._told():
                self._log(record, status)
            self._logged.add((record["key"], status))

    def _log(self, record: Record, status: str) -> None:
        from mlflow.entities import Metric, Param, RunTag

        tags = [RunTag(KEY, record["key"]), RunTag("mixmood.version", record["mixmood"])]
        if "error" in record:
            tags.append(RunTag("mixmood.error", record["error"]["message"][-4000:]))
        params = [Param(key, str(value)) for key, value in record["run"].items()]
        metrics = [Metric(name, value, 0, step) for name, value, step in metrics_of(record)]
        run = self._client.create_run(self._experiment, run_name=record["key"])
        self._client.log_batch(run.info.run_id, params=params, tags=tags)
        for first in range(0, len(metrics), MOST_AT_ONCE):
            part = metrics[first : first + MOST_AT_ONCE]
            self._client.log_batch(run.info.run_id, metrics=part)
        # Last, so that a run that was logged in part has no such status, and is logged again.
        self._client.set_terminated(run.info.run_id, status)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What goes wrong with the server, in one line."""
        from mlflow.exceptions import MlflowException

        try:
            yield
        except (MlflowException, OSError) as error:
            raise OutputError(f"Cannot log to MLflow at {self._place}: {error}") from error

    def _make(self, name: str, uri: str, folder: Path) -> str:
        # Without a place of its own MLflow would make a folder wherever it is called.
        place = (folder / "mlflow-artifacts").resolve().as_uri() if uri == DEFAULT else None
        return str(self._client.create_experiment(name, artifact_location=place))

    def _runs(self) -> list[Any]:
        found: list[Any] = []
        token = None
        while token or not found:
            page = self._client.search_runs([self._experiment], page_token=token, max_results=500)
            found += page
            token = page.token
            if not token:
                break
        return found


def metrics_of(record: Record) -> list[tuple[str, float, int]]:
    """Name, value and step of every number of a record: by epoch, and at the end."""
    if "error" in record:
        return []
    by_epoch = ("test_accuracy", "validation_accuracy", "loss", "loss_labelled", "loss_unlabelled")
    rows = [
        (name, epoch[name], epoch["epoch"])
        for epoch in record["training"]["epochs"]
        for name in by_epoch
        if epoch[name] is not None
    ]
    rows += [
        (f"accuracy_{name}", value, 0)
        for name, value in record["accuracy"].items()
        if value is not None
    ]
    for measure, found in (record["distances"] or {}).items():
        rows += [(f"{measure}_{key}", found[key], 0) for key in ("distance", "p_permutation")]
    return rows + [(name, value, 0) for name, value in record["times"].items()]
