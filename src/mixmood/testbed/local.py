"""Runs spread over the cores of one machine by joblib's loky."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mixmood.core.errors import TrainingError
from mixmood.testbed.run import Job, execute

MOST_BREAKDOWNS = 3
"""So often in a row may a worker die before a single run is finished."""


def spread_local(
    jobs: Sequence[Job], n_jobs: int, on_start: Callable[[Job], None]
) -> Iterator[dict[str, Any]]:
    """The records of all jobs as they finish.

    When a worker dies, killed for its memory say, all go down with it; those that were not
    finished are begun again.
    """
    from joblib.externals.loky.process_executor import BrokenProcessPool

    waiting = {job.key: job for job in jobs}
    n_breakdowns = 0
    while waiting:
        try:
            for record in _pass(list(waiting.values()), n_jobs, on_start):
                n_breakdowns = 0
                del waiting[record["key"]]
                yield record
        except BrokenProcessPool as error:
            n_breakdowns += 1
            if n_breakdowns == MOST_BREAKDOWNS:
                raise TrainingError(
                    f"Workers died {n_breakdowns} times before finishing a run, most likely for "
                    "want of memory. Try again with fewer --jobs."
                ) from error


def _pass(
    jobs: list[Job], n_jobs: int, on_start: Callable[[Job], None]
) -> Iterator[dict[str, Any]]:
    from joblib import Parallel, delayed, parallel_config

    def dispatched() -> Iterator[Any]:
        for job in jobs:
            on_start(job)
            yield delayed(execute)(job)

    # Set before the workers start: libraries read it when they are loaded.
    with parallel_config("loky", inner_max_num_threads=jobs[0].threads):
        yield from Parallel(
            n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1
        )(dispatched())


def n_cores() -> int:
    """How many cores this process may use."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
