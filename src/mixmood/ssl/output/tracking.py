"""Handing a finished run to MLflow."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mixmood.core.errors import MissingExtraError, OutputError
from mixmood.ssl.output.record import EpochRecord, TrainingRecord
from mixmood.ssl.output.run_files import CURVES, METRICS, RECORD

EXPERIMENT = "mixmood"
BATCH = 900
"""MLflow takes at most 1000 metrics at once."""


def log_to_mlflow(record: TrainingRecord, uri: str, folder: Path | None) -> str:
    """The id of a new MLflow run with the parameters, the curves and the files of a run."""
    try:
        from mlflow.entities import Metric, Param
        from mlflow.exceptions import MlflowException
        from mlflow.tracking import MlflowClient
    except ImportError:
        raise MissingExtraError("Logging to MLflow", "train") from None
    try:
        client = MlflowClient(tracking_uri=uri)
        known = client.get_experiment_by_name(EXPERIMENT)
        experiment = known.experiment_id if known else client.create_experiment(EXPERIMENT)
        run_id: str = client.create_run(experiment).info.run_id
        metrics = [Metric(*row) for row in _metrics(record)]
        params = [Param(name, str(value)[:500]) for name, value in _flat(record.configuration)]
        client.log_batch(run_id, params=params)
        for start in range(0, len(metrics), BATCH):
            client.log_batch(run_id, metrics=metrics[start : start + BATCH])
        if folder is not None:
            for file in (RECORD, CURVES, METRICS):
                client.log_artifact(run_id, str(folder / file))
        client.set_terminated(run_id)
    except (MlflowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise OutputError(f"MLflow at {uri} did not take the run: {reason}") from error
    return run_id


def _metrics(record: TrainingRecord) -> Iterator[tuple[str, float, int, int]]:
    """Name, value, time in ms since the start of the run, epoch."""
    for epoch in record.epochs:
        for name in EpochRecord.__dataclass_fields__:
            value = getattr(epoch, name)
            if isinstance(value, float):
                yield name, value, int(1000 * epoch.elapsed_s), epoch.epoch
    for name, value in record.summary().items():
        if value is not None:
            yield name, float(value), int(1000 * record.elapsed_s), record.epochs[-1].epoch


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
