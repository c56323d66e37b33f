"""The schedules of learning rate, momentum and weight of the unlabelled loss."""

import math
from dataclasses import dataclass

PAPER_RAMP_SHARE = 3000 / 9400
"""The paper's ramp-up, 3000 updates, as a share of its 50 epochs of 188 updates."""

WARM_UP_SHARE = 0.3
START_DIVISOR = 25.0
END_DIVISOR = 25.0 * 1e4
MOMENTUM_HIGH, MOMENTUM_LOW = 0.95, 0.85


@dataclass(frozen=True)
class Length:
    """How many updates a run has, and how many of them make an epoch."""

    n_updates: int
    updates_per_epoch: int

    @classmethod
    def of(cls, epochs: int, updates: int | None, n_images: int, batch_size: int) -> "Length":
        """`epochs` passes over `n_images`, or `updates` in `epochs` equal parts."""
        if updates is not None:
            return cls(updates, math.ceil(updates / epochs))
        per_pass = math.ceil(n_images / batch_size)
        return cls(epochs * per_pass, per_pass)

    def ends_epoch(self, n_done: int) -> bool:
        """Whether an epoch ends after `n_done` updates."""
        return n_done % self.updates_per_epoch == 0 or n_done == self.n_updates


def one_cycle(update: int, n_updates: int, peak: float) -> tuple[float, float]:
    """Learning rate and momentum of an update (counted from 0) under the one-cycle policy.

    The rate climbs along half a cosine from peak / 25 to the peak over the first 30 % of the
    updates, then falls to peak / 250000; momentum mirrors it between 0.95 and 0.85.

    Source: Smith, "A disciplined approach to neural network hyper-parameters", 2018.

    >>> one_cycle(29, 100, 1.0)
    (1.0, 0.85)
    """
    top = WARM_UP_SHARE * n_updates - 1
    if update <= top:
        share = update / top if top > 0 else 1.0
        return _cosine(peak / START_DIVISOR, peak, share), _cosine(
            MOMENTUM_HIGH, MOMENTUM_LOW, share
        )
    share = (update - top) / (n_updates - 1 - top)
    return _cosine(peak, peak / END_DIVISOR, share), _cosine(MOMENTUM_LOW, MOMENTUM_HIGH, share)


def ramp(update: int, length: int) -> float:
    """r(t) = min(1, t / length): the factor of the weight of the unlabelled loss.

    >>> [ramp(t, 4) for t in (0, 1, 4, 9)]
    [0.0, 0.25, 1.0, 1.0]
    """
    return min(1.0, update / length) if length > 0 else 1.0


def _cosine(start: float, end: float, share: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * share)) / 2
