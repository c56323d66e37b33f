"""Logging a finished run to MLflow."""

from collections.abc import Iterator
from pathlib import Path

from mixmood.core.mlflow_log import EXPERIMENT, MetricRow, MlflowLog
from mixmood.core.records.dotted import dotted
from mixmood.ssl.output.record import EpochRecord, TrainingRecord
from mixmood.ssl.output.run_files import CURVES, METRICS, RECORD


def log_to_mlflow(record: TrainingRecord, uri: str, folder: Path | None) -> str:
    """The id of a new MLflow run with the parameters, the curves and the files of a run."""
    files = () if folder is None else tuple(folder / name for name in (RECORD, CURVES, METRICS))
    params = dict(dotted(record.configuration))
    return MlflowLog(uri, EXPERIMENT).log(params, list(_metrics(record)), files=files)


def _metrics(record: TrainingRecord) -> Iterator[MetricRow]:
    """Rows of name, value, time in ms since the start of the run, and epoch."""
    for epoch in record.epochs:
        for name in EpochRecord.__dataclass_fields__:
            value = getattr(epoch, name)
            if isinstance(value, float):
                yield name, value, int(1000 * epoch.elapsed_s), epoch.epoch
    for name, value in record.summary().items():
        if value is not None:
            yield name, float(value), int(1000 * record.elapsed_s), record.epochs[-1].epoch
