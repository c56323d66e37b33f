"""The result of fitting a score, the same for every family."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from mixmood.core.arrays import Array

FitArrays = Mapping[str, NDArray[Any]]
"""Plain arrays by name: everything that scoring another row needs."""


@dataclass(frozen=True)
class Fit:
    """A fitted score: arrays that score new rows, and the scores of the rows it was fitted on."""

    arrays: FitArrays
    labelled: Array
    """Scores of the labelled images, each by a fit without it, shape (n,)."""
    pool: Array
    """Scores of the pool's sample, each by a fit without it, shape (m,)."""
