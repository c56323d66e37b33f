"""Which images to keep: by the estimated share, a share, a count or a threshold."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.core.errors import OptionError

AUTO = "auto"
KEPT, FOREIGN, COPY_OF_LABELLED, DUPLICATE, OVER_COUNT = (
    "",
    "unlike the labelled images",
    "copy of a labelled image",
    "duplicate in the pool",
    "over the count",
)
"""The values of the column `reason`: why an image is not kept; empty if it is."""


@dataclass(frozen=True)
class KeepRule:
    """What to keep, as the user asked: exactly one of the fields is set."""

    is_auto: bool = False
    share: float | None = None
    count: int | None = None
    threshold: float | None = None

    def __post_init__(self) -> None:
        """Refuse shares, counts and thresholds outside their ranges."""
        n_set = sum(
            [self.is_auto, *(v is not None for v in (self.share, self.count, self.threshold))]
        )
        if n_set != 1:
            raise OptionError(f"Give one of auto, a share, a count or a threshold; got {n_set}.")
        is_wrong_share = self.share is not None and not 0 < self.share < 1
        if is_wrong_share or (self.count is not None and self.count < 1):
            raise _wrong_keep(self.share if is_wrong_share else self.count)
        if self.threshold is not None and not np.isfinite(self.threshold):
            raise OptionError(f"A threshold must be a finite number; got {self.threshold}.")


def parse_keep(keep: str | float) -> KeepRule:
    """The rule behind `--keep auto|SHARE|COUNT`: a share is below 1, a count a whole number.

    >>> parse_keep("auto").is_auto, parse_keep("0.3").share, parse_keep(500).count
    (True, 0.3, 500)
    """
    if isinstance(keep, str) and keep.strip().lower() == AUTO:
        return KeepRule(is_auto=True)
    try:
        number = float(keep)
    except ValueError:
        raise _wrong_keep(keep) from None
    if isinstance(keep, bool) or not np.isfinite(number):
        raise _wrong_keep(keep)
    if number < 1:
        return KeepRule(share=number)
    # 1.0 could be one image or all of them: neither is guessed.
    if number != int(number) or (number == 1 and "." in str(keep)):
        raise _wrong_keep(str(keep))
    return KeepRule(count=int(number))


def balanced_threshold(pool_scores: Array, useful_share: float) -> float:
    """The score that the useful share of the pool reaches.

    At this threshold as many useful images are dropped as foreign ones are kept. Let u be the
    share of useful images and r the part of them above the threshold. Then u (1 - r) of the pool
    is useful and dropped. If u of the pool is above the threshold, u - u r of it is foreign and
    kept: the same number. The threshold is infinite for a share of 0, minus infinity for 1.

    >>> balanced_threshold(np.arange(10.0), 0.3)
    6.5
    """
    ascending = np.sort(pool_scores)
    n_dropped = len(ascending) - round(useful_share * len(ascending))
    if n_dropped == 0:
        return -np.inf
    if n_dropped == len(ascending):
        return np.inf
    return float((ascending[n_dropped - 1] + ascending[n_dropped]) / 2)


def keep_above(scores: Array, threshold: float) -> NDArray[np.bool_]:
    """Which images score at least the threshold, shape (n,)."""
    return np.asarray(scores >= threshold)


def keep_best(scores: Array, n_kept: int, is_candidate: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The best `n_kept` candidates, or all if there are fewer; of equal scores the lower index."""
    candidates = scores[is_candidate]
    if len(candidates) <= n_kept:
        return is_candidate.copy()
    last = np.partition(candidates, len(candidates) - n_kept)[len(candidates) - n_kept]
    is_kept = np.asarray(is_candidate & (scores > last))
    ties = np.flatnonzero(is_candidate & (scores == last))
    is_kept[ties[: n_kept - int(is_kept.sum())]] = True
    return is_kept


def _wrong_keep(value: object) -> OptionError:
    shown = f"{value:g}" if isinstance(value, float) else value
    return OptionError(
        f"--keep takes auto, a share between 0 and 1 or a whole number of at least 1; got {shown}."
    )
