"""Calls that do not depend on each other, and their outcomes."""

import pickle
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mixmood.core.errors import TrainingError


@dataclass(frozen=True)
class Call:
    """`function(argument)`, to be computed in another process.

    Both must be picklable. `key` is unique among the calls. Libraries that the function uses
    compute with `n_threads` threads.
    """

    key: str
    function: Callable[[Any], Any]
    argument: Any
    n_threads: int = 1


@dataclass(frozen=True)
class Outcome:
    """The value of a finished call, or the error that it ended with."""

    key: str
    value: Any = None
    error: Exception | None = None


Spread = Callable[[Sequence[Call], int, Callable[[Call], None]], Iterator[Outcome]]
"""The type of `spread_local` and `RaySpread`. Arguments: the calls, how many run at once, and a
function that is called with each call before it starts. Yields the outcomes as calls finish."""


def compute(call: Call) -> Outcome:
    """The outcome of a call, computed in this process; an error becomes part of the outcome."""
    try:
        return Outcome(call.key, call.function(call.argument))
    except Exception as error:
        return Outcome(call.key, error=_portable(error))


def _portable(error: Exception) -> Exception:
    """The error itself if it can be pickled, else a TrainingError with its traceback."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return TrainingError("".join(traceback.format_exception(error)))
    return error
