"""How many cores there are, and how loky of joblib spreads independent calls over them."""

import os
import pickle
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from mixmood.core.errors import OptionError, TrainingError
from mixmood.core.interrupt import children_ignore_interrupt, uninterrupted


@dataclass(frozen=True)
class Call:
    """`function(argument)`, both picklable, to be computed in another process."""

    key: str  # unique among the calls
    function: Callable[[Any], Any]
    argument: Any
    n_threads: int = 1  # of the libraries that the function uses


@dataclass(frozen=True)
class Outcome:
    """The value of a finished call, or the error that it ended with."""

    key: str
    value: Any = None
    error: Exception | None = None


Spread = Callable[[Sequence[Call], int, Callable[[Call], None]], Iterator[Outcome]]
"""`spread_local` or `RaySpread`: the calls, how many run at once, and what is called with each
call before it starts; yields the outcomes as calls finish."""


def compute(call: Call) -> Outcome:
    """The outcome of a call, computed in this process; an error becomes part of the outcome."""
    try:
        return Outcome(call.key, call.function(call.argument))
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            text = "".join(traceback.format_exception(error))
            return Outcome(call.key, error=TrainingError(text))
        return Outcome(call.key, error=error)


MOST_BREAKDOWNS = 3  # how often in a row workers may die before any call has started
MANAGER = "ExecutorManagerThread"
DIED = (
    "The process that computed this was killed, and killed again when nothing else was running, "
    "most likely because memory ran out. Use a machine with more memory, or a smaller task."
)


def spread_local(
    calls: Sequence[Call], n_jobs: int, on_start: Callable[[Call], None]
) -> Iterator[Outcome]:
    """The outcomes of all calls as they finish.

    When a worker dies, loky ends all workers. The calls that were running are then repeated one by
    one: a call whose worker dies again has failed, and the others continue.
    """
    from joblib.externals.loky import get_reusable_executor
    from joblib.externals.loky.process_executor import BrokenProcessPool

    waiting = {call.key: call for call in calls}
    suspects: dict[str, Call] = {}
    running: dict[str, Call] = {}
    n_breakdowns = 0

    def start(call: Call) -> None:
        running[call.key] = call
        on_start(call)

    while waiting:
        batch = list(suspects.values())[:1] or list(waiting.values())
        try:
            for outcome in _run_batch(batch, n_jobs, start):
                n_breakdowns = 0
                for calls_by_key in (waiting, suspects, running):
                    calls_by_key.pop(outcome.key, None)
                yield outcome
        except BrokenProcessPool as error:
            if suspects:
                # Only one call was running, so it was its worker that died.
                del waiting[batch[0].key], suspects[batch[0].key]
                yield Outcome(batch[0].key, error=TrainingError(DIED))
            n_breakdowns = 0 if running else n_breakdowns + 1
            suspects |= {key: call for key, call in running.items() if key in waiting}
            running.clear()
            if n_breakdowns == MOST_BREAKDOWNS:
                raise TrainingError(
                    f"Workers died {n_breakdowns} times before they began to compute, most likely "
                    "because memory ran out. Try again with fewer --jobs."
                ) from error
    if calls:
        # Loky would keep idle workers until Python ends, and they ignore Ctrl-C.
        with uninterrupted():
            get_reusable_executor(reuse=True).shutdown(kill_workers=True)


def _run_batch(
    calls: list[Call], n_jobs: int, on_start: Callable[[Call], None]
) -> Iterator[Outcome]:
    """The outcomes of calls that loky runs; BrokenProcessPool when a worker dies."""
    from joblib import Parallel, delayed, parallel_config

    def dispatched() -> Iterator[Any]:
        for call in calls:
            on_start(call)
            yield delayed(compute)(call)

    # Before the workers start, because libraries read the number of threads when loaded.
    with parallel_config("loky", inner_max_num_threads=calls[0].n_threads), silent_manager():
        parallel = Parallel(
            n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1
        )
        outcomes = None
        try:
            # An interrupt while its workers start would make loky wait forever.
            with uninterrupted(), children_ignore_interrupt():
                outcomes = parallel(dispatched())
            # Not `yield from`: closing joblib's generator gives a warning about lost results.
            for outcome in outcomes:  # noqa: UP028
                yield outcome
        except (KeyboardInterrupt, GeneratorExit):
            if outcomes is not None:
                with suppress(KeyboardInterrupt):
                    outcomes.throw(KeyboardInterrupt)
            raise


@contextmanager
def silent_manager() -> Iterator[None]:
    """Do not print the KeyError with which loky's manager thread ends if loky is stopped."""
    usual = threading.excepthook

    def print_others(args: threading.ExceptHookArgs) -> None:
        is_manager = args.thread is not None and args.thread.name == MANAGER
        if not (is_manager and issubclass(args.exc_type, KeyError)):
            usual(args)

    threading.excepthook = print_others
    try:
        yield
    finally:
        threading.excepthook = usual


LOCAL, RAY = "local", "ray"
BACKENDS = (LOCAL, RAY)


def checked_jobs(jobs: int | None) -> int:
    """The number of jobs asked for, or of all cores for None; OptionError below 1."""
    if jobs is None:
        # The cores that this process may use; the machine may have more.
        has_affinity = hasattr(os, "sched_getaffinity")
        return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    if jobs < 1:
        raise OptionError(f"jobs must be at least 1; got {jobs}. Leave it out to use all cores.")
    return jobs
