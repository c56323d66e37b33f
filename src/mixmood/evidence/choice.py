"""Which head to use (auto) and which features, judged on held-out images."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.core.errors import InputError
from mixmood.evidence.accuracy import (
    Estimate,
    all_logits,
    difference_interval,
    held_out_accuracy,
    nested_plan,
    right_by_image,
)
from mixmood.evidence.view import BASE, FEW, N_FOLDS, N_REPEATS, ViewEvidence
from mixmood.heads.problem import LinearHead, directions, head_problem, work_of
from mixmood.heads.registry import HEADS, head_named
from mixmood.numerics.folds import NEVER, Folds, repeated_folds
from mixmood.numerics.logistic import fit_temperature

MOST_FOLDS_WORK = 2_000_000_000
"""If a fit takes more work, nothing is cross-validated."""


@dataclass(frozen=True)
class TrainedHead:
    """A head, fitted to all labelled rows, and its accuracy on held-out images."""

    name: str
    head: LinearHead
    """Its temperature is calibrated."""
    accuracy: Estimate | None
    """Cross-validated; None if no row could be held out."""
    gain: Estimate | None
    """Its accuracy minus that of the supervised head on the same folds; None without a pool."""
    logits: Array
    """Of held-out rows, shape (repeats, n, k); NaN for rows that were never held out."""
    others: Mapping[str, LinearHead]
    """Every head that was fitted."""
    reason: str


def train_head(
    features: Array,
    codes: NDArray[np.integer],
    n_classes: int,
    pool: Array | None,
    rng: np.random.Generator,
    *,
    algorithm: str = BASE,
    useful: Array | None = None,
    groups: NDArray[np.integer] | None = None,
    views: ViewEvidence | None = None,
) -> TrainedHead:
    """A head on all labelled rows, with its cross-validated accuracy; all fits are made at once.

    Args:
        features: Of the labelled images, shape (n, d).
        codes: Their classes, 0 to n_classes - 1.
        n_classes: How many classes there are.
        pool: Of the unlabelled images, shape (m, d); none if None or empty.
        rng: Decides every random choice.
        algorithm: One of HEADS.
        useful: The chance of each pool image to be useful, shape (m,); 1 if None.
        groups: Rows of one group are held out together; each row is its own if None.
        views: The same rows in all views, if that of `features` was chosen among them: its folds
            are used, and no fold takes part in the choice of the view by which it is judged.
    """
    n_pool = 0 if pool is None else len(pool)
    uses_pool = head_named(algorithm).uses_pool and n_pool > 0
    folds, why_not = _folds(work_of(features, n_classes), codes, rng, groups)
    folds = folds if views is None or why_not else views.folds
    plan = nested_plan(folds, with_pairs=False)
    problem = head_problem(features, codes, n_classes, pool, plan.weights, useful)
    names = (BASE, algorithm) if uses_pool and not why_not else (algorithm,)
    heads = {name: HEADS[name] for name in names}
    fitted, logits = all_logits(heads, problem, directions(features), rng)
    outside = {name: plan.out_of_fold(one) for name, one in logits.items()}
    own = outside[algorithm]
    if why_not:
        return TrainedHead(algorithm, fitted[algorithm], None, None, own, fitted, why_not)
    judged = own if views is None else views.nested_logits(own)
    seen = np.isfinite(own).all(axis=(0, 2))
    finals = {
        name: replace(head, temperature=fit_temperature(outside[name][:, seen], codes[seen]))
        for name, head in fitted.items()
    }
    gain = None
    if uses_pool:
        right, before = (right_by_image(outside[name], codes)[seen] for name in (algorithm, BASE))
        gain = difference_interval(right - before, None if groups is None else groups[seen])
    reason = _reason(algorithm, gain, n_pool)
    accuracy = held_out_accuracy(judged, codes, groups)
    return TrainedHead(algorithm, finals[algorithm], accuracy, gain, judged, finals, reason)


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
    try:
        n_repeats = N_REPEATS if len(codes) <= FEW else 1
        return repeated_folds(codes, N_FOLDS, n_repeats, rng, groups), ""
    except InputError:
        why = "No class has two images (groups) to hold one out: accuracy cannot be estimated."
        return none, why


def _reason(algorithm: str, gain: Estimate | None, n_pool: int) -> str:
    """That the head was asked for, and what the pool changed: it may well do harm."""
    if gain is None:
        lacks = HEADS[algorithm].uses_pool and n_pool == 0
        but = ", but there is no pool image to learn from" if lacks else ""
        return f"{algorithm} was asked for{but}."
    return (
        f"{algorithm} was asked for; on held-out images it differs from supervised by "
        f"{100 * gain.value:+.1f} points ({100 * gain.low:+.1f} to {100 * gain.high:+.1f})."
    )
