"""Logs runs to MLflow: parameters, metrics, tags and files."""

import logging
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mixmood.core.errors import OutputError, needing, reason

EXPERIMENT = "mixmood"  # of rankings, filters and trained models; a test bed has its own
MOST_AT_ONCE = 900  # metrics in one request; MLflow takes at most 1000
MOST_CHARACTERS = 500  # longer values of a parameter are cut

RETRIES = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"  # how often MLflow tries again: by default seven times

MetricRow = tuple[str, float, int, int]  # name, value, time in milliseconds, step


class MlflowLog:
    """One experiment of an MLflow server or file."""

    def __init__(self, uri: str, experiment: str, artifacts: str | None = None) -> None:
        """Find the experiment, or make it; `artifacts` is the place of its files, if given."""
        with needing("--mlflow", "train"):
            from mlflow.tracking import MlflowClient
        self._uri = uri
        with self._errors(), few_retries():
            self._client = MlflowClient(tracking_uri=uri)
            found = self._client.get_experiment_by_name(experiment)
            self._experiment = (
                found.experiment_id
                if found
                else self._client.create_experiment(experiment, artifact_location=artifacts)
            )

    def log(
        self,
        params: Mapping[str, Any],
        metrics: Sequence[MetricRow],
        *,
        name: str | None = None,
        tags: Mapping[str, str] | None = None,
        files: Sequence[Path] = (),
        status: str = "FINISHED",
    ) -> str:
        """The id of a new run. Its status is set last, so that a partly logged run has none."""
        from mlflow.entities import Metric, Param, RunTag

        with self._errors():
            run_id: str = self._client.create_run(self._experiment, run_name=name).info.run_id
            self._client.log_batch(
                run_id,
                params=[Param(key, str(value)[:MOST_CHARACTERS]) for key, value in params.items()],
                tags=[RunTag(key, value) for key, value in (tags or {}).items()],
            )
            rows = [Metric(*row) for row in metrics]
            for first in range(0, len(rows), MOST_AT_ONCE):
                self._client.log_batch(run_id, metrics=rows[first : first + MOST_AT_ONCE])
            for path in files:
                self._client.log_artifact(run_id, str(path))
            self._client.set_terminated(run_id, status)
        return run_id

    def logged(self, tag: str) -> set[tuple[str | None, str]]:
        """The value of a tag, and the status, of every run of the experiment."""
        found: set[tuple[str | None, str]] = set()
        token: str | None = ""
        with self._errors():
            while token is not None:
                page = self._client.search_runs(
                    [self._experiment], page_token=token or None, max_results=500
                )
                found |= {(run.data.tags.get(tag), run.info.status) for run in page}
                token = page.token or None
        return found

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turns errors of MLflow into OutputError, and silences its log and warnings."""
        from mlflow.exceptions import MlflowException

        logger = logging.getLogger("mlflow")
        level = logger.level
        logger.setLevel(logging.WARNING)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        except (MlflowException, OSError) as error:
            raise OutputError(f"Cannot log to MLflow at {self._uri}: {reason(error)}.") from error
        finally:
            logger.setLevel(level)


@contextmanager
def few_retries() -> Iterator[None]:
    """A server that does not answer at the start is an error within seconds, not minutes."""
    is_chosen = RETRIES in os.environ
    os.environ.setdefault(RETRIES, "1")
    try:
        yield
    finally:
        if not is_chosen:
            del os.environ[RETRIES]
