"""A fitted filter: fitted once on labelled images and a sample of the pool, applied to batches."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Codes
from mixmood.core.errors import InputError
from mixmood.core.family_names import DEFAULT_SCORE
from mixmood.evidence.share import UsefulShare, share_of_fit
from mixmood.numerics.neighbours import copy_cosine, cosine_neighbours, unit_rows
from mixmood.scores.fitting import (
    FitArrays,
    checked_labelled,
    checked_pool,
    checked_rows,
    typical_threshold,
)
from mixmood.scores.registry import (
    FittedScore,
    fit_score,
    score_family,
    score_from_arrays,
    score_to_arrays,
)
from mixmood.selection.duplicates import HashCodes, feature_codes
from mixmood.selection.keep import balanced_threshold

FORMAT = 1


@dataclass(frozen=True)
class ScoredBatch:
    """The results of the filter for a batch of images, one entry for each."""

    scores: Array
    """Larger is more like the labelled images."""
    nearest: NDArray[np.int64]
    """The index of the nearest labelled image by cosine."""
    is_copy: NDArray[np.bool_]
    """Whether the image is a copy of that labelled image."""
    codes: HashCodes
    """Hash codes by which duplicates within the pool are found, shape (n, 2)."""


@dataclass(frozen=True)
class FittedFilter:
    """A fitted filter, made of plain arrays."""

    score: FittedScore
    useful: UsefulShare
    threshold: float
    """Of `--keep auto`: infinite if nothing is useful, minus infinity if everything is."""
    labelled: Array
    """Unit rows of the labelled images, shape (n, d), to find the nearest one."""
    centre: Array
    """The mean of the pool's sample, shape (d,), which the hash codes are relative to."""

    def scored(self, features: Array) -> ScoredBatch:
        """Score some rows; a row's result does not depend on the other rows of the batch."""
        rows = checked_rows(features, "The images", self.score.width)
        near = cosine_neighbours(rows, self.labelled, 1)
        return ScoredBatch(
            self.score.score(rows),
            near.indices[:, 0],
            near.similarities[:, 0] >= self._copy_cosine,
            feature_codes(rows, self.centre),
        )

    @cached_property
    def _copy_cosine(self) -> float:
        return copy_cosine(self.labelled)

    def typical_threshold(self, share: float) -> float:
        """The score that a share of the labelled images, such as 0.95, reaches."""
        return typical_threshold(self.score.fit.labelled, share)


def fit_filter(
    labelled: Array,
    pool: Array,
    rng: np.random.Generator,
    *,
    labels: Codes | None = None,
    family: str = DEFAULT_SCORE,
) -> FittedFilter:
    """A filter from features of the labelled images and of a random sample of the pool.

    Args:
        labelled: Shape (n, d), n at least 2.
        pool: Shape (m, d), at least one row; of more than 1000 rows a random part is used.
        rng: Decides the parts, and the random halves behind the interval of the useful share.
        labels: The class of each labelled image, or None.
        family: A name in `mixmood.scores.SCORES`.
    """
    own = checked_labelled(labelled, labels)
    rows = checked_pool(pool, own.shape[1])
    # The useful share needs a cross-fitted score; for other scores the default one estimates it.
    is_cross_fitted = score_family(family).fit_rows is not None
    share_family = family if is_cross_fitted else DEFAULT_SCORE
    useful, fit = share_of_fit(own, rows, rng, labels=labels, family=share_family)
    score = (
        FittedScore(family, fit, own.shape[1])
        if is_cross_fitted
        else fit_score(own, rows, labels, family)
    )
    return FittedFilter(
        score,
        useful,
        balanced_threshold(score.fit.pool, useful.share),
        unit_rows(own).astype(np.float32).astype(np.float64),
        rows.mean(axis=0),
    )


def filter_to_arrays(fitted: FittedFilter) -> dict[str, NDArray[Any]]:
    """A fitted filter as plain arrays, for `numpy.savez`; nothing in them needs pickle."""
    useful = fitted.useful
    near = np.nan if useful.near_auroc is None else useful.near_auroc
    return {
        "format": np.array(FORMAT),
        "share": np.array([useful.share, *useful.interval, near, float(useful.is_trustworthy)]),
        "note": np.array(useful.note),
        "class_shares": np.array(useful.class_shares or ()),
        "threshold": np.array(fitted.threshold),
        "labelled_rows": fitted.labelled.astype(np.float32),
        "pool_mean": fitted.centre,
        **{f"score_{name}": value for name, value in score_to_arrays(fitted.score).items()},
    }


def filter_from_arrays(arrays: FitArrays) -> FittedFilter:
    """The filter from the arrays of `filter_to_arrays`; refuse other arrays."""
    wanted = ("format", "share", "note", "class_shares", "threshold", "labelled_rows", "pool_mean")
    missing = [name for name in wanted if name not in arrays]
    if missing or int(arrays["format"]) != FORMAT:
        found = f"no {', '.join(missing)}" if missing else f"format {int(arrays['format'])}"
        raise InputError(
            f"A saved filter must have format {FORMAT} and all its arrays; got {found}. "
            "Save it again with `mixmood filter --save` of this version."
        )
    prefix = "score_"
    score = score_from_arrays(
        {name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)}
    )
    share, low, high, near, is_trustworthy = (float(value) for value in arrays["share"])
    useful = UsefulShare(
        share,
        (low, high),
        bool(is_trustworthy),
        str(arrays["note"]),
        None if np.isnan(near) else near,
        tuple(arrays["class_shares"].tolist()) or None,
    )
    rows = checked_rows(arrays["labelled_rows"], "The saved labelled rows", score.width)
    centre = checked_rows(arrays["pool_mean"][None], "The saved mean", score.width)[0]
    return FittedFilter(score, useful, float(arrays["threshold"]), rows, centre)
