"""Does a head with the pool beat the supervised one? Paired differences on held-out images."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.heads.evaluation.accuracy import Estimate, difference_interval, mean_and_error
from mixmood.heads.evaluation.cross_validation import right_by_image
from mixmood.numerics.calibration import fit_temperature
from mixmood.numerics.softmax import softmax

BASE = "supervised"
CLEAR = 1.28
"""Standard errors by which a head must be better to be used instead of the supervised one.

If there is no difference, this happens with probability 0.1. On development tasks (60 labels),
mean gain of the choice over supervised, clean / half foreign / foreign pools: at 0.5 errors +2.2 /
+1.3 / -0.1 points, at 1.25 +2.1 / +1.0 / -0.1, at 2 +1.2 / +0.5 / 0.0.
"""


@dataclass(frozen=True)
class Comparison:
    """One head against the supervised head on the same held-out images."""

    name: str
    gain: Estimate
    """Difference of the accuracies, between -1 and 1."""
    surer: float
    """Difference of the calibrated probabilities of the right class, mean over images."""
    surer_error: float
    """Its standard error over images, or over groups."""

    @property
    def is_clear(self) -> bool:
        """Whether the head is clearly better: surer by CLEAR errors, and not less accurate."""
        return self.surer > CLEAR * self.surer_error and self.gain.value >= 0


def compare_heads(
    logits: Mapping[str, Array],
    codes: NDArray[np.integer],
    groups: NDArray[np.integer] | None = None,
) -> tuple[Comparison, ...]:
    """Every head against the supervised one, from out-of-fold logits of shape (repeats, n, k).

    The accuracy on few images is coarse, so that the probability of the right class is compared.
    A head that is only more confident would look better: each head's logits are first divided
    by the temperature that fits them best.
    """
    seen = np.isfinite(logits[BASE]).all(axis=(0, 2))
    own_groups = None if groups is None else groups[seen]
    right = {name: right_by_image(one[:, seen], codes[seen]) for name, one in logits.items()}
    sure = {name: _right_probability(one[:, seen], codes[seen]) for name, one in logits.items()}
    found = []
    for name in logits:
        if name != BASE:
            surer, error = mean_and_error(sure[name] - sure[BASE], own_groups)
            gain = difference_interval(right[name] - right[BASE], own_groups)
            found.append(Comparison(name, gain, surer, error))
    return tuple(found)


def best_of(comparisons: tuple[Comparison, ...]) -> str:
    """The best of the heads that are clearly better, or the supervised one if none is.

    >>> even = Estimate(0.0, -0.1, 0.1)
    >>> unclear = Comparison("mixmatch", even, 0.04, 0.05)
    >>> best_of((unclear, Comparison("propagation", even, 0.03, 0.01)))
    'propagation'
    >>> best_of((unclear,))
    'supervised'
    """
    clear = [one for one in comparisons if one.is_clear]
    return max(clear, key=lambda one: one.surer).name if clear else BASE


def _right_probability(logits: Array, codes: NDArray[np.integer]) -> Array:
    """The calibrated probability of the right class of each row, mean over repeats; shape (n,)."""
    p = softmax(logits / fit_temperature(logits, codes))
    return np.asarray(p[:, np.arange(len(codes)), codes].mean(axis=0))
