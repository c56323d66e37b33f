"""Runs spread over the cores of one machine by joblib's loky."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from mixmood.core.errors import TrainingError
from mixmood.core.interrupt import deaf_children, uninterrupted
from mixmood.testbed.runs.run import Job, execute, failure

MOST_BREAKDOWNS = 3
"""So often in a row may workers die before a single run has begun."""
DIED = (
    "The worker of this run was killed, and killed again when nothing else was running; most "
    "likely for want of memory. Give the machine more, or the run less to do."
)


def spread_local(
    jobs: Sequence[Job], n_jobs: int, on_start: Callable[[Job], None]
) -> Iterator[dict[str, Any]]:
    """The records of all jobs as they finish.

    When a worker dies, killed for its memory say, all go down with it. Those that were running are
    begun again one by one; a run whose worker dies again has failed, and the others go on.
    """
    from joblib.externals.loky.process_executor import BrokenProcessPool

    waiting = {job.key: job for job in jobs}
    suspects: dict[str, Job] = {}
    running: dict[str, Job] = {}
    n_breakdowns = 0

    def begin(job: Job) -> None:
        running[job.key] = job
        on_start(job)

    while waiting:
        batch = list(suspects.values())[:1] or list(waiting.values())
        try:
            for record in _pass(batch, n_jobs, begin):
                n_breakdowns = 0
                for jobs_by_key in (waiting, suspects, running):
                    jobs_by_key.pop(record["key"], None)
                yield record
        except BrokenProcessPool as error:
            if suspects:
                # It was alone, so it is known whose worker died.
                del waiting[batch[0].key], suspects[batch[0].key]
                yield failure(batch[0], TrainingError(DIED))
            n_breakdowns = 0 if running else n_breakdowns + 1
            suspects |= {key: job for key, job in running.items() if key in waiting}
            running.clear()
            if n_breakdowns == MOST_BREAKDOWNS:
                raise TrainingError(
                    f"Workers died {n_breakdowns} times before they began a run, most likely for "
                    "want of memory. Try again with fewer --jobs."
                ) from error
    if jobs:
        _dismiss_workers()


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
        parallel = Parallel(
            n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1
        )
        records = None
        try:
            # Loky cannot be stopped while its workers start: it would wait for what never began.
            with uninterrupted(), deaf_children():
                records = parallel(dispatched())
            # Not `yield from`: joblib warns of what is lost when it is closed.
            for record in records:  # noqa: UP028
                yield record
        except (KeyboardInterrupt, GeneratorExit):
            if records is not None:
                with suppress(KeyboardInterrupt):
                    records.throw(KeyboardInterrupt)
            raise


def _dismiss_workers() -> None:
    """End idle workers now: they would wait for Python's end, and hear no Ctrl-C until then."""
    from joblib.externals.loky import get_reusable_executor

    with uninterrupted():
        get_reusable_executor(reuse=True).shutdown(kill_workers=True)


def n_cores() -> int:
    """How many cores this process may use."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
