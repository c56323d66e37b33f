"""Every option of a prediction, declared and checked in one place."""

from dataclasses import dataclass

from mixmood.core.cores import checked_jobs
from mixmood.core.plan_options import check_kinds
from mixmood.features.extraction.plan import device_option, jobs_option


@dataclass(frozen=True, kw_only=True)
class PredictionPlan:
    """How images are classified; command line and Python share it."""

    jobs: int | None = jobs_option()
    device: str = device_option()

    def __post_init__(self) -> None:
        """Refuse values of another kind, and a number of threads below one."""
        check_kinds(self)
        checked_jobs(self.jobs)
