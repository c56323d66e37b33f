"""Logging records to MLflow: an experiment for each test bed, a run for each record."""

from collections.abc import Callable
from pathlib import Path

from mixmood.core.errors import OutputError
from mixmood.core.mlflow_log import MetricRow, MlflowLog
from mixmood.testbed.runs.record import AnyRecord, FailedRun
from mixmood.testbed.runs.store import Store

DEFAULT = "default"
"""The URI for a SQLite file in the folder of the store."""
KEY = "mixmood.key"
MOST_ERROR_CHARACTERS = 4000
BY_EPOCH = ("test_accuracy", "validation_accuracy", "loss", "loss_labelled", "loss_unlabelled")


class Tracker:
    """Logs records to MLflow, each once."""

    def __init__(self, uri: str, experiment: str, folder: Path) -> None:
        """Find or create the experiment; the URI `default` is a SQLite file in `folder`."""
        is_here = uri == DEFAULT
        place = f"sqlite:///{(folder / 'mlflow.db').resolve()}" if is_here else uri
        # Without this, MLflow would create a folder in the current directory.
        artifacts = (folder / "mlflow-artifacts").resolve().as_uri() if is_here else None
        self._log = MlflowLog(place, f"mixmood-{experiment}", artifacts)
        self._logged = self._log.logged(KEY)

    def log(self, record: AnyRecord) -> None:
        """Log a record, unless it was logged before; failed runs are logged as failed."""
        tags = {KEY: record.key, "mixmood.version": record.mixmood}
        status = "FINISHED"
        if isinstance(record, FailedRun):
            status = "FAILED"
            tags["mixmood.error"] = record.error.message[-MOST_ERROR_CHARACTERS:]
        if (record.key, status) in self._logged:
            return
        params = record.run.to_dict()
        self._log.log(params, metrics_of(record), name=record.key, tags=tags, status=status)
        self._logged.add((record.key, status))


def record_logger(
    uri: str | None, store: Store, warn: Callable[[str], None]
) -> Callable[[AnyRecord | None], None]:
    """A function that logs a record to MLflow; without a URI it does nothing.

    Records that are in the store already are logged at once. A server that does not answer must
    not stop the runs, since the store has all records. The error is reported once to `warn`, and
    nothing more is logged.
    """
    if uri is None:
        return lambda record: None
    tracker = Tracker(uri, store.config.name, store.folder)
    is_reachable = True

    def log(record: AnyRecord | None) -> None:
        nonlocal is_reachable
        if record is None or not is_reachable:
            return
        try:
            tracker.log(record)
        except OutputError as error:
            is_reachable = False
            warn(f"{error} Runs go on; missing records are logged at the next start.")

    for finished in store.records():
        log(finished)
    for failed in store.failures():
        log(failed)
    return log


def metrics_of(record: AnyRecord) -> list[MetricRow]:
    """The numbers of a record: of each epoch, and of the whole run."""
    if isinstance(record, FailedRun):
        return []
    rows: list[MetricRow] = [
        (name, value, 0, epoch.epoch)
        for epoch in record.epochs
        for name in BY_EPOCH
        if (value := getattr(epoch, name)) is not None
    ]
    last = {f"accuracy_{name}": value for name, value in record.accuracy.to_dict().items()}
    for measure, found in (record.distances or {}).items():
        last[f"{measure}_distance"] = found.distance
        last[f"{measure}_p_permutation"] = found.p_permutation
    if record.useful_share is not None:
        last["useful_share"] = record.useful_share.share
    if record.probe is not None:
        last |= {"probe_change": record.probe.change, "probe_gain": record.probe.gain}
    last |= record.times
    return rows + [(name, value, 0, 0) for name, value in last.items() if value is not None]
