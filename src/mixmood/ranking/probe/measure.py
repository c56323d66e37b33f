"""The change that a pool makes to cross-validated predictions of the labelled images."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mixmood.core.arrays import Array, Codes
from mixmood.heads.evaluation.cross_validation import out_of_fold_logits
from mixmood.heads.registry import head_named
from mixmood.numerics.calibration import fit_temperature, log_likelihood
from mixmood.numerics.folds import Folds, repeated_folds

N_FOLDS = 5
N_PARTS = 2
"""Parts of the pool; each is probed with folds and training of its own."""
N_PART = 200
"""Pool images in a part. The number is fixed, so that reading more does not move the result."""


@dataclass(frozen=True)
class LabelledFolds:
    """Labelled images with their folds and the out-of-fold predictions of the supervised head.

    Attributes:
        features: Shape (n, d).
        codes: The class of each image, shape (n,).
        n_classes: How many classes there are.
        groups: The group of each image, shape (n,).
        folds: One division into folds for each part of a pool, shape (parts, n).
        p_right: Calibrated probability of the right class, shape (parts, n); NaN if never held out.
        is_right: Whether the likeliest class is the right one, as 0 and 1, of the same shape.
    """

    features: Array
    codes: Codes
    n_classes: int
    groups: Codes
    folds: Folds
    p_right: Array
    is_right: Array

    @property
    def accuracy(self) -> float:
        """The cross-validated accuracy of the supervised head."""
        return float(np.nanmean(self.is_right))


@dataclass(frozen=True)
class PoolEffect:
    """How a pool changes the predictions of held-out labelled images, in points (percent).

    Attributes:
        p_right: Mean change of the calibrated probability of the right class.
        error: Its standard error from the labelled images (groups), which are a sample.
        unrest: Half the difference between the two parts of the pool: draw and training.
        accuracy: Mean change of the share of right predictions.
    """

    p_right: float
    error: float
    unrest: float
    accuracy: float


def labelled_folds(
    features: Array,
    codes: Codes,
    n_classes: int,
    rng: np.random.Generator,
    groups: Codes | None = None,
) -> LabelledFolds:
    """Folds of the labelled images, and what the supervised head predicts for those held out.

    Images of one group are held out together. Raises InputError where cross-validation is not
    possible: fewer than two classes, or none with two images.
    """
    members = np.arange(len(codes)) if groups is None else groups
    folds = repeated_folds(codes, N_FOLDS, N_PARTS, rng, members)
    seed = int(rng.integers(2**63))
    p_right, is_right = _predicted("supervised", features, codes, n_classes, None, folds, seed)
    return LabelledFolds(features, codes, n_classes, members, folds, p_right, is_right)


def pool_effect(
    labelled: LabelledFolds, pool: Array, algorithm: str, rng: np.random.Generator
) -> PoolEffect:
    """The change from the supervised head to a head that also uses the pool, on the same folds.

    Args:
        labelled: The base line.
        pool: Features of pool images in random order, shape (m, d); the first
            N_PARTS * N_PART are used.
        algorithm: One of the heads that use a pool.
        rng: Decides the training.
    """
    found = [
        _predicted(
            algorithm,
            labelled.features,
            labelled.codes,
            labelled.n_classes,
            part,
            labelled.folds[k : k + 1],
            int(rng.integers(2**63)),
        )
        for k, part in enumerate(parts_of(pool))
    ]
    p_right = np.concatenate([p for p, _ in found]) - labelled.p_right
    is_right = np.concatenate([right for _, right in found]) - labelled.is_right
    means = np.nanmean(p_right, axis=1)
    return PoolEffect(
        p_right=100 * float(means.mean()),
        error=100 * _standard_error(_over_parts(p_right), labelled.groups),
        unrest=50 * float(abs(means[0] - means[1])),
        accuracy=100 * float(np.nanmean(is_right)),
    )


def parts_of(pool: Array) -> Sequence[Array]:
    """Two parts of a pool, of at most N_PART rows; of a single row, twice the same."""
    size = max(min(N_PART, len(pool) // N_PARTS), 1)
    return [pool[k * size : (k + 1) * size] if len(pool) > size else pool for k in range(N_PARTS)]


def _predicted(
    algorithm: str,
    features: Array,
    codes: Codes,
    n_classes: int,
    pool: Array | None,
    folds: Folds,
    seed: int,
) -> tuple[Array, Array]:
    """Calibrated probability of the right class, and whether it is the likeliest: (repeats, n)."""
    heads = {algorithm: head_named(algorithm).head}
    rng = np.random.default_rng(seed)
    logits = out_of_fold_logits(heads, features, codes, n_classes, pool, folds, rng)[algorithm]
    p_right = np.full(logits.shape[:2], np.nan)
    is_right = np.full(logits.shape[:2], np.nan)
    for k, own in enumerate(logits):
        is_seen = np.isfinite(own).all(axis=1)
        rows, seen = own[is_seen], codes[is_seen]
        # At equal calibration: a head that is only surer must not look better.
        p_right[k, is_seen] = np.exp(log_likelihood(rows / fit_temperature(rows, seen), seen))
        is_right[k, is_seen] = rows.argmax(axis=1) == seen
    return p_right, is_right


def _over_parts(changes: Array) -> Array:
    """The mean change of each image over the parts in which it was held out; NaN if in none."""
    n_seen = np.isfinite(changes).sum(axis=0)
    total = np.nansum(changes, axis=0)
    return np.where(n_seen > 0, total / np.maximum(n_seen, 1), np.nan)


def _standard_error(changes: Array, groups: Codes) -> float:
    """The standard error of the mean change, images of one group counting together."""
    is_seen = np.isfinite(changes)
    off, members = changes[is_seen] - changes[is_seen].mean(), groups[is_seen]
    _, places = np.unique(members, return_inverse=True)
    sums = np.bincount(places, weights=off)
    n_groups = len(sums)
    if n_groups < 2:
        return float("inf")
    return float(np.sqrt((sums**2).sum() * n_groups / (n_groups - 1)) / len(off))
