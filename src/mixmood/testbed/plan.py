"""The options of running a test bed and of its tables; command line and Python share them."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mixmood.core.cores import checked_jobs
from mixmood.core.errors import OptionError
from mixmood.core.listener import RUNS, Listener
from mixmood.core.options import option
from mixmood.jobs.local import LOCAL, RAY, check_backend

if TYPE_CHECKING:
    from mixmood.jobs.local import Spread
    from mixmood.ssl.record import Arm
    from mixmood.testbed.cells import CellFilter
    from mixmood.testbed.config import Config
    from mixmood.testbed.driver import Status, Watch
    from mixmood.testbed.record import AnyRecord, Choice
    from mixmood.testbed.run import Job

PRESETS = (
    "paper",
    "paper-code",
    "paper-code-small",
    "paper-frozen",
    "paper-tuned",
    "dose",
    "paper-small",
    "paper-small-labelled",
    "digits",
    "digits-labelled",
    "smoke",
)
"""The TOML files in `presets`; comments give the command, the time and the expected numbers."""


@dataclass(frozen=True, kw_only=True)
class CellsPlan:
    """Which cells of a test bed are used."""

    only: tuple[str, ...] = option(
        (), "Only these cells: task=mnist,n_labelled=60.", metavar="KEY=VALUE,..."
    )

    @property
    def cells(self) -> "CellFilter":
        """The filter for these cells."""
        from mixmood.testbed.cells import CellFilter

        return CellFilter.parse(self.only)


@dataclass(frozen=True, kw_only=True)
class TablesPlan(CellsPlan):
    """Which finished runs are compared, and by which accuracy."""

    selection: str = option(
        "last", "Which epoch counts: last, median, validation, or best as the paper."
    )
    arm: str = option(
        "A",
        "How networks from scratch were tested: A; B: test images standardised as the pool; "
        "C: guesses move batch-norm; D: both, as the authors' code.",
    )
    beside_paper: bool = option(
        False, "Add the paper's values and the differences.", flag="--beside-paper"
    )

    @property
    def choice(self) -> "Choice":
        """Which epoch's accuracy counts; unknown names are refused."""
        from mixmood.testbed.record import checked_choice

        return checked_choice(self.selection)

    @property
    def tested_arm(self) -> "Arm":
        """The arm whose accuracies count; unknown names are refused."""
        from mixmood.testbed.record import checked_arm

        return checked_arm(self.arm)


@dataclass(frozen=True, kw_only=True)
class TestbedPlan(CellsPlan):
    """Which runs of a test bed are executed, where and how."""

    __test__ = False  # Its name would make pytest take it for a test.

    jobs: int | None = option(None, "Number of parallel runs.", shown="all cores")
    backend: str = option(LOCAL, "local or ray.")
    ray_address: str | None = option(None, "A running cluster; otherwise one is started here.")
    gpus_per_run: float = option(0.0, "GPUs for each run: 0.25 puts four runs on a GPU.")
    seeds: int | None = option(None, "Runs of each cell.", shown="as in the file")
    retry_failed: bool = option(
        False, "Repeat the runs that ended with an error.", flag="--retry-failed"
    )
    mlflow: str | None = option(
        None, "Log to MLflow; 'default' is a SQLite file in the store.", metavar="URI"
    )
    cache: str = option("default", "Folder of the feature cache, or none.", metavar="DIR|none")

    def __post_init__(self) -> None:
        """Refuse options that do not fit together."""
        checked_jobs(self.jobs)
        check_backend(self.backend)
        if self.backend == LOCAL and (self.gpus_per_run or self.ray_address):
            raise OptionError("--gpus-per-run and --ray-address go with --backend ray.")

    @property
    def n_jobs(self) -> int:
        """The number of parallel runs; 0 lets the cluster decide."""
        return 0 if self.jobs is None and self.ray_address else checked_jobs(self.jobs)

    @property
    def spread(self) -> "Spread":
        """The backend that distributes runs over cores or over a cluster."""
        from mixmood.jobs.cluster import RaySpread
        from mixmood.jobs.local import spread_local

        if self.backend == RAY:
            return RaySpread(self.ray_address, self.gpus_per_run)
        return spread_local


@dataclass(frozen=True)
class PreparedTestbed:
    """A test bed whose names and data sets were checked, and its jobs."""

    config: "Config"
    plan: TestbedPlan
    work: "list[Job]"

    def run(
        self,
        folder: str | Path,
        watch: "Watch",
        listener: Listener,
    ) -> "Status":
        """Run the jobs that have no record in the store in this folder yet."""
        from mixmood.core.cache import open_cache
        from mixmood.testbed.driver import drive, record_logger
        from mixmood.testbed.store import Store

        plan = self.plan
        spread = plan.spread
        store = Store.make(folder, self.config)
        log = record_logger(plan.mlflow, store, listener)
        # Workers have no listener: the cache is tried here, and a damaged one is replaced.
        if cache := open_cache(plan.cache, listener):
            cache.close()
        n_finished = 0
        listener.start(RUNS, len(self.work))

        def watch_and_log(status: "Status", record: "AnyRecord | None") -> None:
            nonlocal n_finished
            n_before, n_finished = n_finished, status.n_runs - status.n_left
            listener.advance(RUNS, n_finished - n_before)
            watch(status, record)
            log(record)

        status = drive(
            self.work,
            store,
            spread,
            n_jobs=plan.n_jobs,
            retry_failed=plan.retry_failed,
            watch=watch_and_log,
        )
        listener.finish(RUNS)
        return status


def prepare(config: "Config", plan: TestbedPlan) -> PreparedTestbed:
    """The test bed with its jobs, after a check of all names and data sets."""
    from mixmood.testbed.cells import runs
    from mixmood.testbed.config import check_names
    from mixmood.testbed.run import check_data, job_for

    wanted = runs(config, plan.cells, plan.seeds)
    check_names(config)
    device = "cuda" if plan.gpus_per_run else "cpu"
    work = [job_for(config, run, cache=plan.cache, device=device) for run in wanted]
    check_data(work)
    return PreparedTestbed(config, plan, work)
