"""How accurate a head is on images that it was not trained on, with an interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import cast

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Codes
from mixmood.core.errors import InputError
from mixmood.core.records.check import Measured
from mixmood.core.records.ranking import LabelledAccuracy
from mixmood.core.text import counted, either_form, first_names
from mixmood.heads.problem import Head, HeadProblem, LinearHead
from mixmood.numerics.checks import check_setting
from mixmood.numerics.folds import Folds

Z = 1.959963984540054  # the quantile of the normal distribution for intervals of 95 %


@dataclass(frozen=True)
class Estimate:
    """A mean over images and its interval of 95 %."""

    value: float
    low: float
    high: float

    @property
    def measured(self) -> Measured:
        """The entry in a record."""
        return Measured(self.value, (self.low, self.high))


def mean_and_error(values: Array, groups: Codes | None = None) -> tuple[float, float]:
    """The mean, and its error as a ratio of sums over independent groups; infinite with one."""
    own = np.arange(len(values)) if groups is None else np.unique(groups, return_inverse=True)[1]
    counts, sums = np.bincount(own).astype(float), np.bincount(own, values)
    mean, n_groups = float(sums.sum() / counts.sum()), len(sums)
    if n_groups < 2:
        return mean, np.inf
    squares = float(((sums - mean * counts) ** 2).sum()) * n_groups / (n_groups - 1)
    return mean, float(np.sqrt(squares) / counts.sum())


def accuracy_interval(right: Array, groups: Codes | None = None, spread: float = 1.0) -> Estimate:
    """The mean of `right`, one share between 0 and 1 for each image, with Wilson's interval.

    It stays between 0 and 1 and keeps a width if all images are right. Groups whose images are
    right or wrong together make it wider: n is then the number of independent images that would
    have the same standard error, which `spread` multiplies.

    >>> round(accuracy_interval(np.ones(16)).low, 3)
    0.806
    """
    mean, error = mean_and_error(right, groups)
    n_rows = float(len(right))
    variance = mean * (1 - mean)
    if groups is not None:
        n_groups = len(np.unique(groups))
        n_effective = variance / error**2 if 0 < error < np.inf and variance > 0 else n_groups
        n_rows = max(min(n_rows, n_effective), 1.0)
    n_rows /= spread**2
    shrink = 1 + Z**2 / n_rows
    centre = (mean + Z**2 / (2 * n_rows)) / shrink
    half = Z * np.sqrt(variance / n_rows + Z**2 / (4 * n_rows**2)) / shrink
    # Rounding must not put the mean outside its own interval where all are right or all wrong.
    low, high = min(max(0.0, centre - half), mean), max(min(1.0, centre + half), mean)
    return Estimate(mean, float(low), float(high))


def difference_interval(differences: Array, groups: Codes | None = None) -> Estimate:
    """The mean of paired differences, one for each image, with its interval of 95 %."""
    mean, error = mean_and_error(differences, groups)
    return Estimate(mean, mean - Z * error, mean + Z * error)


LARGEST = 60_000_000  # values in one array of a batch of folds; larger batches are fitted in parts
SPREAD = 1.5
"""The standard error of a cross-validated accuracy, as a multiple of that of independent images.

The heads of all folds share most of their training images, and the final head is another one. 1.5
is the smallest tenth with which 95 % of 120 intervals on development tasks (20, 60 and 150 labels)
contain the accuracy on test images: 96 % do; with 1.0, 86 %."""


def all_logits(
    heads: Mapping[str, Head], problem: HeadProblem, rows: Array, rng: np.random.Generator
) -> tuple[dict[str, LinearHead], dict[str, Array]]:
    """The `fit_in_parts` of each head, whose random numbers do not depend on the other heads."""
    seed, first, logits = int(rng.integers(2**63)), {}, {}
    for name, head in heads.items():
        first[name], logits[name] = fit_in_parts(head, problem, rows, [seed, *name.encode()])
    return first, logits


def fit_in_parts(
    head: Head, problem: HeadProblem, rows: Array, seed: int | Sequence[int] = 0
) -> tuple[LinearHead, Array]:
    """The head of the first problem, and the logits of some rows by all heads, shape (B, n, k).

    Of many problems so few are fitted at once that their arrays fit into memory.
    """
    own, pool = problem.labelled, problem.pool
    size = max(1, LARGEST // ((len(own.rows) + len(pool) + pool.shape[1]) * own.n_classes))
    first, logits = None, []
    for start in range(0, problem.n_problems, size):
        part = problem if size >= problem.n_problems else problem.part(start, start + size)
        # The same random numbers for every part: the size of the parts changes nothing.
        fitted = head.fit(part, np.random.default_rng(seed))
        first = first or fitted[0]
        logits.append(fitted.logits_of_rows(rows))
    return cast(LinearHead, first), np.concatenate(logits)


def right_by_image(logits: Array, codes: Codes) -> Array:
    """The share of repeats in which each row was classified correctly, (n,); NaN if never seen."""
    is_seen = np.isfinite(logits).all(axis=(0, 2))
    right = np.full(len(codes), np.nan)
    right[is_seen] = (logits[:, is_seen].argmax(axis=2) == codes[is_seen]).mean(axis=0)
    return right


def held_out_accuracy(logits: Array, codes: Codes, groups: Codes | None) -> Estimate:
    """The accuracy on rows that were held out, with its interval."""
    right = right_by_image(logits, codes)
    seen = np.isfinite(right)
    return accuracy_interval(right[seen], None if groups is None else groups[seen], SPREAD)


def accuracy_of(
    logits: Array, codes: Codes, names: Sequence[str], groups: Codes | None
) -> LabelledAccuracy | None:
    """How often heads are right on held-out rows, and by class; None if none was (all are NaN)."""
    right = right_by_image(logits, codes)
    seen = np.isfinite(right)
    if not seen.any():
        return None
    found = held_out_accuracy(logits, codes, groups)
    classes = np.unique(codes[seen])
    of_classes = {code: float(right[seen & (codes == code)].mean()) for code in classes}
    return LabelledAccuracy(
        found.value,
        (found.low, found.high),
        float(np.mean([*of_classes.values()])),
        tuple(names[code] for code, share in of_classes.items() if share == 0),
        len(codes),
    )


def never_predicted_warning(names: Sequence[str], sizes: Mapping[str, int]) -> str:
    """A warning about classes of which no image is ever predicted correctly; empty if none."""
    if not names:
        return ""
    n_images = counted(sum(sizes.get(name, 0) for name in names), "image")
    of_them = either_form(len(names), "it", "them")
    return (
        f"{either_form(len(names), 'the class', 'the classes')} {first_names(names)} ({n_images}) "
        f"{either_form(len(names), 'is', 'are')} never predicted correctly: accuracy and gains "
        f"say nothing about {of_them}. Label more images of {of_them}."
    )


FEWEST_FOLDS = 3  # with two folds a fit without both would have nothing to train on


@dataclass(frozen=True)
class NestedPlan:
    """Rows that train in each fit of a nested cross-validation."""

    folds: Folds
    weights: NDArray[np.float64]  # all rows first, then each fold out, (B, n), 1 where a row trains
    pairs: NDArray[np.float64]  # each pair of folds out, the same
    outer: dict[tuple[int, int], int]  # the row of `weights` without a fold, by repeat and fold
    inner: dict[tuple[int, int, int], int]  # that of `pairs`, by repeat and both, in any order

    def out_of_fold(self, logits: Array) -> Array:
        """Held-out logits, (repeats, n, k), from those of all rows and fits to `weights`."""
        found = np.full((*self.folds.shape, logits.shape[2]), np.nan)
        for (repeat, fold), fit in self.outer.items():
            out = self.folds[repeat] == fold
            found[repeat, out] = logits[fit, out]
        return found

    def inside(self, logits: Array, repeat: int, fold: int) -> Array:
        """Logits of the inner folds of one outer fold, (1, n, k), from those of fits to `pairs`.

        They are NaN on the outer fold.
        """
        found = np.full((1, self.folds.shape[1], logits.shape[2]), np.nan)
        for (own_repeat, outer, inner), fit in self.inner.items():
            if (own_repeat, outer) == (repeat, fold):
                out = self.folds[repeat] == inner
                found[0, out] = logits[fit, out]
        return found


def nested_plan(folds: Folds) -> NestedPlan:
    """The fits of a cross-validation on these folds, and those that nest one in each fold."""
    rows, pairs = [np.ones(folds.shape[1])], list[NDArray[np.float64]]()
    outer: dict[tuple[int, int], int] = {}
    inner: dict[tuple[int, int, int], int] = {}
    for repeat, fold_of in enumerate(folds):
        used = np.unique(fold_of[fold_of >= 0]).tolist()
        for fold in used:
            outer[repeat, fold] = len(rows)
            rows.append((fold_of != fold).astype(float))
        for first, second in combinations(used, 2):
            inner[repeat, first, second] = inner[repeat, second, first] = len(pairs)
            pairs.append(((fold_of != first) & (fold_of != second)).astype(float))
    none = np.empty((0, folds.shape[1]))
    return NestedPlan(folds, np.stack(rows), np.stack(pairs) if pairs else none, outer, inner)


def keep_threshold(values: Array, share: float = 0.95) -> float:
    """The value below which the answer for an image is "none of these".

    At least `share` of new images like the labelled ones reach it. `values` say how typical each
    labelled image is, each found without that image; NaN is ignored. The threshold is the
    floor((n + 1) (1 - share))-th smallest of them. With too few images for a guarantee it is 0.

    Source: Vovk et al., "Algorithmic learning in a random world", 2005 (split conformal).

    >>> keep_threshold(np.linspace(0.01, 0.99, 99))
    0.05
    >>> keep_threshold(np.array([0.2, 0.9]))
    0.0
    """
    check_setting("share", share, 0, 1)
    known = np.sort(values[np.isfinite(values)])
    if len(known) == 0:
        raise InputError(
            "A threshold needs values of held-out images; got none. Label two images of a class."
        )
    # Rounded: (n + 1) * 0.05 may fall just short of a whole number.
    n_below = int(np.floor(round((len(known) + 1) * (1 - share), 9)))
    return float(known[n_below - 1]) if n_below > 0 else 0.0
