"""Which head to use (auto) and which features, judged on held-out images."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.core.errors import InputError
from mixmood.evidence.accuracy import (
    FEWEST_FOLDS,
    Estimate,
    all_logits,
    difference_interval,
    held_out_accuracy,
    mean_and_error,
    nested_plan,
    right_by_image,
)
from mixmood.evidence.view import ViewEvidence
from mixmood.heads.linear import LinearHead, check_labelled
from mixmood.heads.problem import work_of
from mixmood.heads.registry import HEADS, head_named
from mixmood.numerics.calibration import fit_temperature, softmax
from mixmood.numerics.checks import checked_features
from mixmood.numerics.folds import NEVER, Folds, repeated_folds

BASE = "supervised"
CLEAR = 1.28
"""Standard errors by which a head must be better to be used instead of the supervised one.

If there is no difference, this happens with probability 0.1. On development tasks (60 labels),
mean gain of the choice over supervised, clean / half foreign / foreign pools: at 0.5 errors +2.2 /
+1.3 / -0.1 points, at 1.25 +2.1 / +1.0 / -0.1, at 2 +1.2 / +0.5 / 0.0.
"""
CANDIDATES = ("mixmatch",)
"""The heads that `auto` compares with the supervised head.

With propagation as a second candidate the mean gain on development tasks changed by less than 0.1
points, and `auto` took twice as long; pseudo-label gained less than mixmatch everywhere.
"""
N_FOLDS = 5
FEW, N_REPEATS = 300, 3
"""Up to FEW labelled rows are divided into folds N_REPEATS times; more rows once."""
MOST_CHOICE_WORK, MOST_FOLDS_WORK = 200_000_000, 2_000_000_000
"""If a fit takes more work, `auto` does not compare heads, or nothing is cross-validated."""


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


@dataclass(frozen=True)
class TrainedHead:
    """A head, why it was chosen, and its accuracy on held-out images."""

    name: str
    """Its name in HEADS."""
    head: LinearHead
    """Fitted to all labelled rows, its temperature calibrated."""
    accuracy: Estimate | None
    """Cross-validated (nested if heads were compared); None if no row could be held out."""
    comparisons: tuple[Comparison, ...]
    """The heads that use the pool against the supervised one, on the same folds."""
    logits: Array
    """Logits of held-out rows, shape (repeats, n, k); NaN for rows that were never held out."""
    others: Mapping[str, LinearHead]
    """Every head that was fitted, by name."""
    reason: str
    """Why this head was chosen, in one sentence."""


def train_head(
    features: Array,
    codes: NDArray[np.integer],
    n_classes: int,
    pool: Array | None,
    rng: np.random.Generator,
    *,
    algorithm: str = "auto",
    groups: NDArray[np.integer] | None = None,
    views: ViewEvidence | None = None,
) -> TrainedHead:
    """A head on all labelled rows, with its cross-validated accuracy.

    `auto` compares CANDIDATES with the supervised head on held-out rows, and chooses the
    supervised head unless a candidate is clearly better. The accuracy is then that of the whole
    procedure, by nested cross-validation: the head for a fold is chosen without that fold. All
    fits, the final ones included, are made at once.

    Args:
        features: Of the labelled images, shape (n, d).
        codes: Their classes, 0 to n_classes - 1, shape (n,).
        n_classes: How many classes there are.
        pool: Of the unlabelled images, shape (m, d); none if None or empty.
        rng: Decides every random choice.
        algorithm: `auto` or one of HEADS.
        groups: Rows of one group are held out together; each row is its own if None.
        views: The same rows in all views that were compared, if the view of `features` was chosen
            among them: its folds are used, and no fold takes part in the choice of the view by
            which it is judged.
    """
    check_labelled(features, codes, n_classes)
    checked_features(features[:0] if pool is None else pool, "The pool", features.shape[1])
    n_pool = 0 if pool is None else len(pool)
    names = _names(algorithm, n_pool)
    work = work_of(features, n_classes)
    folds, why_not = _folds(work, codes, rng, groups)
    folds = folds if views is None or why_not else views.folds
    is_choice = len(names) > 1 and folds.max() + 1 >= FEWEST_FOLDS and work <= MOST_CHOICE_WORK
    if why_not or (algorithm == "auto" and not is_choice):
        names = (BASE if algorithm == "auto" else names[-1],)
    plan = nested_plan(folds, with_pairs=is_choice and algorithm == "auto")
    heads = {name: HEADS[name].head for name in names}
    fitted, logits = all_logits(heads, features, codes, n_classes, pool, plan.weights, rng)
    outside = {name: plan.out_of_fold(one) for name, one in logits.items()}
    if why_not:
        chosen = names[0]
        return TrainedHead(chosen, fitted[chosen], None, (), outside[chosen], fitted, why_not)
    comparisons = compare_heads(outside, codes, groups) if BASE in outside else ()
    if plan.inner:
        chosen = best_of(comparisons)
        judged = plan.chosen(logits, lambda inner: best_of(compare_heads(inner, codes, groups)))
    else:
        chosen = names[-1] if algorithm != "auto" else BASE
        judged = outside[chosen]
    judged = judged if views is None else views.nested_logits(judged)
    finals = {name: _calibrated(fitted[name], outside[name], codes) for name in names}
    reason = _reason(algorithm, chosen, comparisons, n_pool, work > MOST_CHOICE_WORK)
    accuracy = held_out_accuracy(judged, codes, groups)
    return TrainedHead(chosen, finals[chosen], accuracy, comparisons, judged, finals, reason)


def _names(algorithm: str, n_pool: int) -> tuple[str, ...]:
    """The heads to fit. The supervised one comes first, so that the gain of a pool is reported."""
    if algorithm == "auto":
        return (BASE, *CANDIDATES) if n_pool else (BASE,)
    entry = head_named(algorithm)
    return (BASE, entry.name) if entry.uses_pool and n_pool else (entry.name,)


def _calibrated(head: LinearHead, logits: Array, codes: NDArray[np.integer]) -> LinearHead:
    seen = np.isfinite(logits).all(axis=(0, 2))
    return replace(head, temperature=fit_temperature(logits[:, seen], codes[seen]))


def _folds(
    work: int,
    codes: NDArray[np.integer],
    rng: np.random.Generator,
    groups: NDArray[np.integer] | None,
) -> tuple[Folds, str]:
    """The folds, and why no row is held out; empty if some are."""
    none = np.full((1, len(codes)), NEVER)
    if work > MOST_FOLDS_WORK:
        return none, "Too many images and classes to cross-validate: the accuracy is unknown."
    n_repeats = N_REPEATS if len(codes) <= FEW else 1
    try:
        return repeated_folds(codes, N_FOLDS, n_repeats, rng, groups), ""
    except InputError:
        text = "No class has two images (groups) to hold one out: accuracy cannot be estimated."
        return none, text


def _reason(
    algorithm: str,
    chosen: str,
    comparisons: tuple[Comparison, ...],
    n_pool: int,
    is_large: bool,
) -> str:
    if algorithm != "auto":
        return _asked_reason(chosen, comparisons, n_pool)
    if n_pool == 0:
        return "There is no pool image to learn from: the supervised head is used."
    if not comparisons:
        amount = "many images and classes" if is_large else "few labelled images"
        return f"Too {amount} to compare heads: the pool is not used."
    if chosen == BASE:
        return "No head with the pool is clearly better on held-out images: the pool is not used."
    points = next(100 * one.gain.value for one in comparisons if one.name == chosen)
    return f"{chosen} is clearly better than supervised on held-out images ({points:+.1f} points)."


def _asked_reason(chosen: str, comparisons: tuple[Comparison, ...], n_pool: int) -> str:
    """That the head was asked for, and what the pool changed: it may well do harm."""
    if n_pool == 0 and HEADS[chosen].uses_pool:
        return f"{chosen} was asked for, but there is no pool image to learn from."
    if not comparisons:
        return f"{chosen} was asked for."
    gain = comparisons[0].gain
    return (
        f"{chosen} was asked for; on held-out images it differs from supervised by "
        f"{100 * gain.value:+.1f} points ({100 * gain.low:+.1f} to {100 * gain.high:+.1f})."
    )
