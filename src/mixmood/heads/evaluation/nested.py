"""Nested cross-validation in which every fit is used twice.

The outer fold f is predicted by a head that is chosen without it. The choice is based on the inner
folds g, each predicted by heads that were trained without f and g. A fit without f and g serves
both as an inner fit of f and as one of g: F folds take F + F (F - 1) / 2 fits a repeat, not F * F.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.numerics.folds import Folds

FEWEST_FOLDS = 3
"""With two folds a fit without both would have nothing to train on."""


@dataclass(frozen=True)
class NestedPlan:
    """Rows that train in each fit: all rows first, then each outer fold out, then each pair out."""

    folds: Folds
    """Shape (repeats, n)."""
    weights: NDArray[np.float64]
    """Shape (B, n), 1 where a row trains."""
    outer: dict[tuple[int, int], int]
    """The fit without a fold, by repeat and fold."""
    inner: dict[tuple[int, int, int], int]
    """The fit without two folds, by repeat and both folds, in either order."""

    def out_of_fold(self, logits: Array) -> Array:
        """Logits of held-out rows, (repeats, n, k), from those of all fits and rows, (B, n, k)."""
        found = np.full((*self.folds.shape, logits.shape[2]), np.nan)
        for (repeat, fold), fit in self.outer.items():
            out = self.folds[repeat] == fold
            found[repeat, out] = logits[fit, out]
        return found

    def inside(self, logits: Array, repeat: int, fold: int) -> Array:
        """Logits of the inner folds of one outer fold, shape (1, n, k); NaN on the outer fold."""
        found = np.full((1, self.folds.shape[1], logits.shape[2]), np.nan)
        for (own_repeat, outer, inner), fit in self.inner.items():
            if (own_repeat, outer) == (repeat, fold):
                out = self.folds[repeat] == inner
                found[0, out] = logits[fit, out]
        return found


def nested_plan(folds: Folds, *, with_pairs: bool) -> NestedPlan:
    """The fits of a nested cross-validation on these folds; of a plain one without pairs."""
    rows = [np.ones(folds.shape[1])]
    outer: dict[tuple[int, int], int] = {}
    inner: dict[tuple[int, int, int], int] = {}
    for repeat, fold_of in enumerate(folds):
        used = np.unique(fold_of[fold_of >= 0]).tolist()
        for fold in used:
            outer[repeat, fold] = len(rows)
            rows.append((fold_of != fold).astype(float))
        for first, second in combinations(used, 2) if with_pairs else ():
            inner[repeat, first, second] = inner[repeat, second, first] = len(rows)
            rows.append(((fold_of != first) & (fold_of != second)).astype(float))
    return NestedPlan(folds, np.stack(rows), outer, inner)
