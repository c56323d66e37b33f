"""All families of scores by name, and fitted scores, which can score any batch of rows."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mixmood.core.arrays import Array, Codes
from mixmood.core.errors import InputError, OptionError
from mixmood.core.options import DEFAULT_SCORE
from mixmood.core.text import check_name
from mixmood.scores.classifier import apply_classifier, fit_classifier
from mixmood.scores.combined import apply_combined, fit_combined
from mixmood.scores.fitting import (
    Fit,
    FitArrays,
    FitRows,
    checked_rows,
    checked_sets,
    compared_rows,
    signed_roots,
)
from mixmood.scores.knn import apply_knn, fit_knn
from mixmood.scores.prototypes import apply_prototypes, fit_prototypes
from mixmood.scores.subspace import apply_subspace, fit_subspace


@dataclass(frozen=True)
class ScoreFamily:
    """A way to score images: larger is more like the labelled ones."""

    fit: FitRows
    apply: Callable[[FitArrays, Array], Array]  # from the fit's arrays and signed roots of rows
    arrays: tuple[str, ...]  # the names of the fit's arrays; a saved score must have them
    needs_labels: bool = False  # whether the fit needs the classes of the labelled images
    is_cross_fitted: bool = False  # whether useful pool images are scored as labelled ones are


LINEAR = ("centre", "weights", "labelled_folds")
SCORES: dict[str, ScoreFamily] = {
    "knn": ScoreFamily(fit_knn, apply_knn, ("centre", "references")),
    "prototypes": ScoreFamily(
        fit_prototypes, apply_prototypes, ("centre", "prototypes"), needs_labels=True
    ),
    "subspace": ScoreFamily(fit_subspace, apply_subspace, ("basis", "inverse")),
    "classifier": ScoreFamily(fit_classifier, apply_classifier, LINEAR, is_cross_fitted=True),
    "combined": ScoreFamily(
        fit_combined, apply_combined, (*LINEAR, "references", "spreads"), is_cross_fitted=True
    ),
}


@dataclass(frozen=True)
class FittedScore:
    """A score that was fitted once and scores any number of rows, batch by batch."""

    family: str
    fit: Fit
    width: int  # how many features a row must have

    def score(self, features: Array) -> Array:
        """The scores of some rows, shape (n,); a row's score does not depend on the others."""
        rows = checked_rows(features, "The images", self.width)
        if len(rows) == 0:
            return np.empty(0)
        return SCORES[self.family].apply(self.fit.arrays, signed_roots(rows))


def score_family(name: str) -> ScoreFamily:
    """The family of that name; refuse an unknown one."""
    check_name("score", name, SCORES)
    return SCORES[name]


def fit_score(
    labelled: Array, pool: Array, labels: Codes | None = None, family: str = DEFAULT_SCORE
) -> FittedScore:
    """A score fitted on at least 2 labelled images and a random pool sample; 1000 are enough."""
    chosen = score_family(family)
    if chosen.needs_labels and labels is None:
        raise OptionError(
            f"The score '{family}' needs the classes of the labelled images. Use 'knn'."
        )
    own, rows = checked_sets(labelled, pool, labels)
    codes = None if labels is None else np.asarray(labels)
    return FittedScore(family, chosen.fit(compared_rows(own, rows), codes, None), own.shape[1])


def restored_score(family: str, width: int, arrays: FitArrays) -> FittedScore:
    """A score from the arrays of its fit and the scores `labelled` and `pool`; refuse others."""
    chosen = score_family(family)
    missing = [name for name in (*chosen.arrays, "labelled", "pool") if name not in arrays]
    if missing:
        raise InputError(
            f"A saved score must hold its arrays; got no {', '.join(missing)}. "
            "Save the filter again with this version of mixmood."
        )
    for name, values in arrays.items():
        if values.dtype.kind not in "fi" or not np.isfinite(values).all():
            raise InputError(
                f"The array '{name}' of a saved score must hold finite numbers; got "
                f"{values.dtype}. Save the filter again."
            )
    fit = Fit({name: arrays[name] for name in chosen.arrays}, arrays["labelled"], arrays["pool"])
    return FittedScore(family, fit, width)
