"""The driver: runs all jobs without a record in the store, and says how far it is."""

import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from mixmood.core.cache import open_cache
from mixmood.core.errors import OutputError
from mixmood.core.files import write_atomic
from mixmood.core.listener import RUNS, Listener
from mixmood.core.mlflow_log import MetricRow, MlflowLog
from mixmood.jobs.local import Call, Spread
from mixmood.testbed.cells import runs
from mixmood.testbed.config import Config, check_names
from mixmood.testbed.plan import TestbedPlan
from mixmood.testbed.record import AnyRecord, FailedRun
from mixmood.testbed.run import Job, batches, check_data, execute_batch, failure, job_for
from mixmood.testbed.store import DRIVER, Store

Watch = Callable[["Status", AnyRecord | None], None]
"""Called after every change; the record is that of the run that just finished, if one did."""


@dataclass
class Status:
    """The progress of a driver; `elapsed_s` does not jump when a clock is set."""

    n_runs: int
    n_jobs: int
    n_done: int = 0
    n_failed: int = 0
    n_earlier: int = 0
    n_failed_earlier: int = 0
    elapsed_s: float = 0.0
    pid: int = field(default_factory=os.getpid)
    host: str = field(default_factory=platform.node)
    running: list[str] = field(default_factory=list)

    @property
    def n_left(self) -> int:
        """Runs that neither finished nor failed yet."""
        n_earlier = self.n_earlier + self.n_failed_earlier
        return self.n_runs - n_earlier - self.n_done - self.n_failed

    @property
    def seconds_left(self) -> float | None:
        """An estimate from the finished runs of this driver; None before the first one."""
        n_finished = self.n_done + self.n_failed
        return self.elapsed_s / n_finished * self.n_left if n_finished else None


def jobs_for(config: Config, plan: TestbedPlan) -> list[Job]:
    """The jobs of a test bed, after a check of all names and data sets."""
    wanted = runs(config, plan.cells, plan.seeds)
    check_names(config)
    device = "cuda" if plan.gpus_per_run else "cpu"
    jobs = [job_for(config, run, cache=plan.cache, device=device) for run in wanted]
    check_data(jobs)
    return jobs


def run_jobs(
    jobs: Sequence[Job], store: Store, plan: TestbedPlan, watch: Watch, listener: Listener
) -> Status:
    """Run the jobs that have no record in the store yet."""
    log = record_logger(plan.mlflow, store, listener)
    # Workers have no listener: the cache is tried here, and a damaged one is replaced.
    if cache := open_cache(plan.cache, listener):
        cache.close()
    n_finished = 0
    listener.start(RUNS, len(jobs))

    def watch_and_log(status: Status, record: AnyRecord | None) -> None:
        nonlocal n_finished
        n_before, n_finished = n_finished, status.n_runs - status.n_left
        listener.advance(RUNS, n_finished - n_before)
        watch(status, record)
        log(record)

    status = drive(
        jobs,
        store,
        plan.spread,
        n_jobs=plan.n_jobs,
        retry_failed=plan.retry_failed,
        watch=watch_and_log,
    )
    listener.finish(RUNS)
    return status


def drive(
    jobs: Sequence[Job],
    store: Store,
    spread: Spread,
    *,
    n_jobs: int,
    retry_failed: bool = False,
    watch: Watch = lambda status, record: None,
) -> Status:
    """Run all jobs without a record in the store. If it is stopped, finished runs are kept."""
    running: dict[str, str] = {}

    def changed(record: AnyRecord | None = None) -> None:
        """Keep `driver.json` and the watcher up to date."""
        status.elapsed_s, status.running = time.monotonic() - start, list(running.values())
        write_atomic(store.folder / DRIVER, json.dumps(asdict(status), indent=1) + "\n")
        watch(status, record)

    def started(call: Call) -> None:
        for job in call.argument:
            running[job.key] = " ".join(map(str, job.run.to_dict().values()))
        changed()

    with store.locked():
        keys = {job.key for job in jobs}
        done = keys & store.keys()
        failed = set() if retry_failed else keys & store.keys(failed=True)
        waiting = [job for job in jobs if job.key not in done | failed]
        status = Status(len(jobs), n_jobs, n_earlier=len(done), n_failed_earlier=len(failed))
        found = {batch[0].key: batch for batch in batches(waiting)}
        calls = [Call(key, execute_batch, own, own[0].threads) for key, own in found.items()]
        start = time.monotonic()
        changed()
        for outcome in spread(calls, n_jobs, started):
            batch, error = found[outcome.key], outcome.error
            # All runs of a batch failed if its worker ended with an error.
            records = [failure(job, error) for job in batch] if error else outcome.value
            for record in records:
                store.write(record)
                running.pop(record.key, None)
                is_failed = isinstance(record, FailedRun)
                status.n_failed += is_failed
                status.n_done += not is_failed
                changed(record)
    return status


def read_status(store: Store) -> Status | None:
    """The state that the last driver wrote; None if there was none."""
    try:
        return Status(**json.loads((store.folder / DRIVER).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


@dataclass(frozen=True)
class StoreStatus:
    """Finished runs, failed runs, and the process that works on the store."""

    name: str
    n_runs: int  # runs that its file asks for
    n_done: int
    failures: tuple[FailedRun, ...]
    driver: Status | None  # of the process that works on the store now, if there is one

    @classmethod
    def of(cls, store: Store) -> "StoreStatus":
        """The status of a store, read from its files."""
        driver = read_status(store) if store.is_locked else None
        n_runs, n_done = len(runs(store.config)), len(store.keys())
        return cls(store.config.name, n_runs, n_done, tuple(store.failures()), driver)


DEFAULT = "default"  # the URI for a SQLite file in the folder of the store
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
    uri: str | None, store: Store, listener: Listener
) -> Callable[[AnyRecord | None], None]:
    """A function that logs a record to MLflow; without a URI it does nothing.

    A server that does not answer must not stop the runs: the listener is warned once, and nothing
    more is logged. Records that are in the store already are logged at once.
    """
    if uri is None:
        return lambda record: None
    tracker: Tracker | None = Tracker(uri, store.config.name, store.folder)

    def log(record: AnyRecord | None) -> None:
        nonlocal tracker
        if record is None or tracker is None:
            return
        try:
            tracker.log(record)
        except OutputError as error:
            tracker = None
            listener.warn(f"{error} Runs go on; missing records are logged at the next start.")

    earlier: list[AnyRecord] = [*store.records(), *store.failures()]
    for record in earlier:
        log(record)
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
