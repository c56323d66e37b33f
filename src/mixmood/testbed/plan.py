"""The options of running a test bed and of its tables; command line and Python share them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast, get_args

from mixmood.core.errors import OptionError
from mixmood.core.options import option
from mixmood.core.text import check_name
from mixmood.jobs.local import BACKENDS, LOCAL, RAY, Spread, checked_jobs, spread_local

if TYPE_CHECKING:
    from mixmood.ssl.record import Arm
    from mixmood.testbed.cells import CellFilter

Choice = Literal["last", "median", "validation", "best"]
"""Which epoch's accuracy counts: the last; the median of the last five; the best on validation
images; the best on the test images, as in the paper, which is optimistic."""
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
    def choice(self) -> Choice:
        """Which epoch's accuracy counts; unknown names are refused."""
        check_name("selection", self.selection, get_args(Choice))
        return cast(Choice, self.selection)

    @property
    def tested_arm(self) -> "Arm":
        """The arm whose accuracies count; unknown names are refused."""
        from mixmood.ssl.record import Arm

        check_name("arm", self.arm, get_args(Arm))
        return cast(Arm, self.arm)


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
        check_name("backend", self.backend, BACKENDS)
        if self.backend == LOCAL and (self.gpus_per_run or self.ray_address):
            raise OptionError("--gpus-per-run and --ray-address go with --backend ray.")

    @property
    def n_jobs(self) -> int:
        """The number of parallel runs; 0 lets the cluster decide."""
        return 0 if self.jobs is None and self.ray_address else checked_jobs(self.jobs)

    @property
    def spread(self) -> Spread:
        """The backend that distributes runs over cores or over a cluster."""
        from mixmood.jobs.cluster import RaySpread

        if self.backend == RAY:
            return RaySpread(self.ray_address, self.gpus_per_run)
        return spread_local
