"""How many cores this process may use."""

import os

from mixmood.core.errors import OptionError


def n_cores() -> int:
    """The number of cores that this process may use; the machine may have more."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


def checked_jobs(jobs: int | None) -> int:
    """The number of jobs asked for, or of all cores for None; OptionError below 1."""
    if jobs is None:
        return n_cores()
    if jobs < 1:
        raise OptionError(f"jobs must be at least 1; got {jobs}. Leave it out to use all cores.")
    return jobs
