"""The driver: runs all jobs without a record in the store and writes each record at once."""

import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from mixmood.core.files.atomic import write_atomic
from mixmood.jobs.call import Call, Outcome, Spread
from mixmood.testbed.runs.record import AnyRecord, FailedRun
from mixmood.testbed.runs.run import Job, batches, execute_batch, failure
from mixmood.testbed.runs.store import DRIVER, Store

Watch = Callable[["Status", AnyRecord | None], None]
"""Called after every change; the record is that of the run that just finished, if one did."""


@dataclass
class Status:
    """The progress of a driver.

    `started` and `updated` are seconds since 1970, which may jump when a clock is set;
    `elapsed_s` does not.
    """

    n_runs: int
    n_jobs: int
    n_done: int = 0
    n_failed: int = 0
    n_earlier: int = 0
    n_failed_earlier: int = 0
    started: float = 0.0
    updated: float = 0.0
    elapsed_s: float = 0.0
    pid: int = 0
    host: str = ""
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
        if not n_finished:
            return None
        return self.elapsed_s / n_finished * self.n_left


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
    with store.locked():
        keys = {job.key for job in jobs}
        done = keys & store.keys()
        failed = set() if retry_failed else keys & store.keys(failed=True)
        waiting = [job for job in jobs if job.key not in done | failed]
        status = Status(len(jobs), n_jobs, n_earlier=len(done), n_failed_earlier=len(failed))
        found = {batch[0].key: batch for batch in batches(waiting)}
        calls = [Call(key, execute_batch, own, own[0].threads) for key, own in found.items()]
        report = _Report(store, status, watch)
        for outcome in spread(calls, n_jobs, lambda call: report.started(call.argument)):
            for record in _records(found[outcome.key], outcome):
                store.write(record)
                report.finished(record)
    return status


def _records(jobs: Sequence[Job], outcome: Outcome) -> Sequence[AnyRecord]:
    """The records of a batch; all its runs failed if the worker ended with an error."""
    if outcome.error is not None:
        return [failure(job, outcome.error) for job in jobs]
    records: Sequence[AnyRecord] = outcome.value
    return records


class _Report:
    """Keeps `driver.json` and the watcher up to date."""

    def __init__(self, store: Store, status: Status, watch: Watch) -> None:
        self.status, self._watch = status, watch
        self._path = store.folder / DRIVER
        self._running: dict[str, str] = {}
        self._start = time.monotonic()
        status.started, status.pid, status.host = time.time(), os.getpid(), platform.node()
        self._write(None)

    def started(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            self._running[job.key] = " ".join(map(str, job.run.to_dict().values()))
        self._write(None)

    def finished(self, record: AnyRecord) -> None:
        self._running.pop(record.key, None)
        if isinstance(record, FailedRun):
            self.status.n_failed += 1
        else:
            self.status.n_done += 1
        self._write(record)

    def _write(self, record: AnyRecord | None) -> None:
        self.status.updated = time.time()
        self.status.elapsed_s = time.monotonic() - self._start
        self.status.running = list(self._running.values())
        write_atomic(self._path, json.dumps(asdict(self.status), indent=1) + "\n")
        self._watch(self.status, record)


def read_status(store: Store) -> Status | None:
    """The state that the last driver wrote; None if there was none."""
    path = store.folder / DRIVER
    try:
        content: dict[str, Any] = json.loads(path.read_bytes())
        return Status(**content)
    except (OSError, ValueError, TypeError):
        return None
