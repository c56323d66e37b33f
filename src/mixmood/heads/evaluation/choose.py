"""Which head to use (`auto`), how good it is, and the head itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.core.errors import InputError
from mixmood.heads.checks import check_labelled, check_pool
from mixmood.heads.evaluation.accuracy import Estimate
from mixmood.heads.evaluation.compare import BASE, Comparison, best_of, compare_heads
from mixmood.heads.evaluation.cross_validation import all_logits, held_out_accuracy
from mixmood.heads.evaluation.nested import FEWEST_FOLDS, NestedPlan, nested_plan
from mixmood.heads.fitting.problem import work_of
from mixmood.heads.linear import LinearHead
from mixmood.heads.registry import HEADS, head_named
from mixmood.numerics.calibration import fit_temperature
from mixmood.numerics.folds import Folds, repeated_folds

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
    n_folds: int = N_FOLDS,
    n_repeats: int | None = None,
    candidates: Sequence[str] = CANDIDATES,
) -> TrainedHead:
    """A head on all labelled rows, with its cross-validated accuracy.

    `auto` compares the candidates with the supervised head on held-out rows, and chooses the
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
        n_folds: Folds of the cross-validation.
        n_repeats: How often the rows are divided; if None, N_REPEATS times up to FEW rows.
        candidates: The heads that `auto` compares with the supervised one.
    """
    check_labelled(features, codes, n_classes)
    check_pool(features[:0] if pool is None else pool, features.shape[1])
    n_pool = 0 if pool is None else len(pool)
    names = _names(algorithm, candidates, n_pool)
    repeats = n_repeats or (N_REPEATS if len(codes) <= FEW else 1)
    work = work_of(features, n_classes)
    folds, why_not = _folds(work, codes, n_folds, repeats, rng, groups)
    if folds is None:
        chosen = BASE if algorithm == "auto" else names[-1]
        return _untested(chosen, why_not, features, codes, n_classes, pool, rng)
    is_choice = len(names) > 1 and folds.max() + 1 >= FEWEST_FOLDS and work <= MOST_CHOICE_WORK
    if algorithm == "auto" and not is_choice:
        names = (BASE,)
    plan = nested_plan(folds, with_pairs=is_choice and algorithm == "auto")
    heads = {name: HEADS[name].head for name in names}
    fitted, logits = all_logits(heads, features, codes, n_classes, pool, plan.weights, rng)
    outside = {name: plan.out_of_fold(one) for name, one in logits.items()}
    comparisons = compare_heads(outside, codes, groups) if BASE in outside else ()
    if plan.inner:
        chosen = best_of(comparisons)
        judged = _nested_logits(plan, logits, outside, codes, groups)
    else:
        chosen = names[-1] if algorithm != "auto" else BASE
        judged = outside[chosen]
    finals = {name: _calibrated(fitted[name], outside[name], codes) for name in names}
    reason = _reason(algorithm, chosen, comparisons, n_pool, work > MOST_CHOICE_WORK)
    accuracy = held_out_accuracy(judged, codes, groups)
    return TrainedHead(chosen, finals[chosen], accuracy, comparisons, judged, finals, reason)


def _names(algorithm: str, candidates: Sequence[str], n_pool: int) -> tuple[str, ...]:
    """The heads to fit. The supervised one comes first, so that the gain of a pool is reported."""
    if algorithm == "auto":
        asked = [head_named(name).name for name in candidates if name != BASE]
        return (BASE, *asked) if n_pool else (BASE,)
    entry = head_named(algorithm)
    return (BASE, entry.name) if entry.uses_pool and n_pool else (entry.name,)


def _nested_logits(
    plan: NestedPlan,
    logits: Mapping[str, Array],
    outside: Mapping[str, Array],
    codes: NDArray[np.integer],
    groups: NDArray[np.integer] | None,
) -> Array:
    """For every outer fold, the logits of the head that is chosen without it."""
    found = np.full_like(outside[BASE], np.nan)
    for repeat, fold in plan.outer:
        inner = {name: plan.inside(one, repeat, fold) for name, one in logits.items()}
        chosen = best_of(compare_heads(inner, codes, groups))
        out = plan.folds[repeat] == fold
        found[repeat, out] = outside[chosen][repeat, out]
    return found


def _calibrated(head: LinearHead, logits: Array, codes: NDArray[np.integer]) -> LinearHead:
    seen = np.isfinite(logits).all(axis=(0, 2))
    return head.at_temperature(fit_temperature(logits[:, seen], codes[seen]))


def _folds(
    work: int,
    codes: NDArray[np.integer],
    n_folds: int,
    n_repeats: int,
    rng: np.random.Generator,
    groups: NDArray[np.integer] | None,
) -> tuple[Folds | None, str]:
    """The folds; or None, and why no row is held out."""
    if work > MOST_FOLDS_WORK:
        return None, "Too many images and classes to cross-validate: the accuracy is unknown."
    try:
        return repeated_folds(codes, n_folds, n_repeats, rng, groups), ""
    except InputError:
        text = "No class has two images (groups) to hold one out: accuracy cannot be estimated."
        return None, text


def _untested(
    chosen: str,
    reason: str,
    features: Array,
    codes: NDArray[np.integer],
    n_classes: int,
    pool: Array | None,
    rng: np.random.Generator,
) -> TrainedHead:
    """A head whose accuracy is unknown."""
    heads = {chosen: HEADS[chosen].head}
    all_rows = np.ones((1, len(codes)))
    fitted, _ = all_logits(heads, features, codes, n_classes, pool, all_rows, rng)
    no_logits = np.full((1, len(codes), n_classes), np.nan)
    return TrainedHead(chosen, fitted[chosen], None, (), no_logits, fitted, reason)


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
