"""What a run of a test bed is asked for: one plan for the command line and for Python."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from mixmood.core.cores import checked_jobs
from mixmood.core.errors import OptionError
from mixmood.core.suggest import unknown_name
from mixmood.testbed.grid.config import Config, load_config

if TYPE_CHECKING:
    from mixmood.jobs.call import Spread
    from mixmood.testbed.runs.driver import Status, Watch
    from mixmood.testbed.runs.record import AnyRecord
    from mixmood.testbed.runs.run import Job

BACKENDS = ("local", "ray")


@dataclass(frozen=True)
class TestbedPlan:
    """Which test bed runs, where and how; the arguments of `mixmood.run_testbed`."""

    testbed: str | Path
    store: Path
    jobs: int | None = None
    backend: str = "local"
    ray_address: str | None = None
    gpus_per_run: float = 0.0
    only: tuple[str, ...] = ()
    seeds: int | None = None
    retry_failed: bool = False
    mlflow: str | None = None
    cache: str = "default"

    def __post_init__(self) -> None:
        """Refuse options that do not fit together."""
        checked_jobs(self.jobs)
        if self.backend not in BACKENDS:
            raise unknown_name("backend", self.backend, BACKENDS)
        if self.backend == "local" and (self.gpus_per_run or self.ray_address):
            raise OptionError("--gpus-per-run and --ray-address go with --backend ray.")

    @cached_property
    def config(self) -> Config:
        """The test bed itself."""
        return load_config(self.testbed)

    @property
    def n_jobs(self) -> int:
        """Runs at once; 0 lets a cluster decide."""
        return 0 if self.jobs is None and self.ray_address else checked_jobs(self.jobs)

    @property
    def spread(self) -> "Spread":
        """The adapter that spreads runs over cores or over a cluster."""
        from mixmood.jobs.cluster import RaySpread
        from mixmood.jobs.local import spread_local

        if self.backend == "ray":
            return RaySpread(self.ray_address, self.gpus_per_run)
        return spread_local

    def work(self) -> "list[Job]":
        """The jobs that are asked for, once all names and data sets are checked."""
        from mixmood.testbed.grid.cells import CellFilter, runs
        from mixmood.testbed.grid.check import check_data, check_names
        from mixmood.testbed.runs.run import job_for

        wanted = runs(self.config, CellFilter.parse(self.only), self.seeds)
        check_names(self.config)
        device = "cuda" if self.gpus_per_run else "cpu"
        work = [job_for(self.config, run, cache=self.cache, device=device) for run in wanted]
        check_data(work)
        return work

    def run(
        self,
        work: "list[Job]",
        watch: "Watch" = lambda status, record: None,
        warn: Callable[[str], None] = warnings.warn,
    ) -> "Status":
        """Run those jobs that the store has no record of."""
        from mixmood.testbed.runs.driver import drive
        from mixmood.testbed.runs.store import Store
        from mixmood.testbed.runs.tracking import record_logger

        spread = self.spread
        store = Store.make(self.store, self.config)
        log = record_logger(self.mlflow, store, warn)

        def watch_and_log(status: "Status", record: "AnyRecord | None") -> None:
            watch(status, record)
            log(record)

        return drive(
            work,
            store,
            spread,
            n_jobs=self.n_jobs,
            retry_failed=self.retry_failed,
            watch=watch_and_log,
        )
