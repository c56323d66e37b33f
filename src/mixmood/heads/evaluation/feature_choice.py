"""Chooses among several kinds of features of the same images, by the supervised head."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.heads.evaluation.accuracy import Estimate
from mixmood.heads.evaluation.cross_validation import all_logits, held_out_accuracy, right_by_image
from mixmood.heads.evaluation.nested import FEWEST_FOLDS, NestedPlan, nested_plan
from mixmood.heads.registry import HEADS
from mixmood.numerics.folds import repeated_folds

BASE = "supervised"
N_FOLDS = 5


@dataclass(frozen=True)
class FeatureChoice:
    """The features that were chosen, and the accuracy of the head with each kind."""

    chosen: str
    accuracies: Mapping[str, Estimate]
    """Cross-validated on the same folds, in the order given."""
    after_choice: Estimate | None
    """Accuracy of the whole procedure, by nested cross-validation: the features for a fold are
    chosen without it. None if there are too few images for that."""

    @property
    def optimism(self) -> float | None:
        """How much the choice raises the accuracy of the chosen features above the true one.

        It is the accuracy of the best minus that of the whole procedure, both on the same folds,
        and at least 0. None if it cannot be estimated.

        Source: as in Tibshirani and Tibshirani, "A bias correction for the minimum error rate in
        cross-validation", Ann. Appl. Stat., 2009, with nested folds instead of one minimum a fold.
        """
        if self.after_choice is None:
            return None
        return max(0.0, self.accuracies[self.chosen].value - self.after_choice.value)


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

    The best of several accuracies is optimistic: for `after_choice`, the features for each fold
    are chosen without that fold. InputError if no image can be held out.

    Args:
        features: Each kind's rows for the same images, shape (n, d); d may differ.
        codes: Their classes, 0 to n_classes - 1, shape (n,).
        n_classes: How many classes there are.
        rng: Decides the folds.
        groups: Rows of one group are held out together; each row is its own if None.
        n_repeats: How often the rows are divided into folds.
    """
    folds = repeated_folds(codes, N_FOLDS, n_repeats, rng, groups)
    is_nested = len(features) > 1 and folds.max() + 1 >= FEWEST_FOLDS
    plan = nested_plan(folds, with_pairs=is_nested)
    head, seed = {BASE: HEADS[BASE].head}, int(rng.integers(2**63))
    logits = {
        name: all_logits(
            head, rows, codes, n_classes, None, plan.weights, np.random.default_rng(seed)
        )[1][BASE]
        for name, rows in features.items()
    }
    accuracies = {
        name: held_out_accuracy(plan.out_of_fold(one), codes, groups)
        for name, one in logits.items()
    }
    chosen = _best({name: one.value for name, one in accuracies.items()})
    if not is_nested:
        return FeatureChoice(chosen, accuracies, accuracies[chosen] if len(features) == 1 else None)
    nested = _nested_logits(plan, logits, codes)
    return FeatureChoice(chosen, accuracies, held_out_accuracy(nested, codes, groups))


def _nested_logits(
    plan: NestedPlan, logits: Mapping[str, Array], codes: NDArray[np.integer]
) -> Array:
    """For every outer fold, the logits of the kind that is best without it."""
    found = plan.out_of_fold(next(iter(logits.values())))
    for (repeat, fold), fit in plan.outer.items():
        right = {
            name: float(np.nanmean(right_by_image(plan.inside(one, repeat, fold), codes)))
            for name, one in logits.items()
        }
        out = plan.folds[repeat] == fold
        found[repeat, out] = logits[_best(right)][fit, out]
    return found


def _best(values: Mapping[str, float]) -> str:
    """The name with the largest value; of equals, the first."""
    return max(values, key=lambda name: values[name])
