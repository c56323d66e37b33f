"""Which of several kinds of features of the same images the supervised head does best with."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.heads.evaluation.accuracy import Estimate, accuracy_interval
from mixmood.heads.evaluation.cross_validation import out_of_fold_logits, right_by_image
from mixmood.heads.registry import HEADS
from mixmood.numerics.folds import Folds, repeated_folds

BASE = "supervised"
N_FOLDS = 5


@dataclass(frozen=True)
class FeatureChoice:
    """The features that were chosen, and how well the head does with each kind."""

    chosen: str
    accuracies: Mapping[str, Estimate]
    """Cross-validated on the same folds, in the order given."""
    after_choice: Estimate
    """Of the whole procedure: for every fold the choice is made on the other folds."""


def choose_features(
    features: Mapping[str, Array],
    codes: NDArray[np.integer],
    n_classes: int,
    rng: np.random.Generator,
    *,
    groups: NDArray[np.integer] | None = None,
    n_repeats: int = 3,
) -> FeatureChoice:
    """The kind of features with the highest cross-validated accuracy; of equals, the first.

    The best of several accuracies is too good an estimate of itself: `after_choice` judges each
    fold by what the other folds would have chosen. InputError if no image can be held out.

    Args:
        features: Each kind's rows for the same images, shape (n, d); d may differ.
        codes: Their classes, 0 to n_classes - 1, shape (n,).
        n_classes: How many classes there are.
        rng: Decides the folds.
        groups: Rows of one group are held out together; each row is its own if None.
        n_repeats: How often the rows are divided again.
    """
    folds = repeated_folds(codes, N_FOLDS, n_repeats, rng, groups)
    head, seed = {BASE: HEADS[BASE].head}, int(rng.integers(2**63))
    logits = {
        name: out_of_fold_logits(
            head, rows, codes, n_classes, None, folds, np.random.default_rng(seed)
        )[BASE]
        for name, rows in features.items()
    }
    accuracies = {name: _accuracy(one, codes, groups) for name, one in logits.items()}
    chosen = max(accuracies, key=lambda name: accuracies[name].value)
    judged = _judged_by_others(logits, codes, folds)
    return FeatureChoice(chosen, accuracies, _accuracy(judged, codes, groups))


def _judged_by_others(
    logits: Mapping[str, Array], codes: NDArray[np.integer], folds: Folds
) -> Array:
    """For every fold, the logits of the kind that is best on the other folds."""
    is_right = {name: one.argmax(axis=2) == codes for name, one in logits.items()}
    judged = np.full_like(next(iter(logits.values())), np.nan)
    for repeat, fold_of_row in enumerate(folds):
        for fold in range(fold_of_row.max() + 1):
            out = fold_of_row == fold
            others = (fold_of_row >= 0) & ~out
            best = max(is_right, key=lambda name: is_right[name][repeat, others].mean())
            judged[repeat, out] = logits[best][repeat, out]
    return judged


def _accuracy(
    logits: Array, codes: NDArray[np.integer], groups: NDArray[np.integer] | None
) -> Estimate:
    right = right_by_image(logits, codes)
    seen = np.isfinite(right)
    return accuracy_interval(right[seen], None if groups is None else groups[seen])
