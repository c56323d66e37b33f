"""From the parts of a scan to which images are kept, and why the others are not."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.selection.balance import TOO_MANY_OF_CLASS, balanced
from mixmood.selection.duplicates import originals
from mixmood.selection.keep import (
    COPY_OF_LABELLED,
    DUPLICATE,
    FOREIGN,
    KEPT,
    OVER_COUNT,
    KeepRule,
    keep_above,
    keep_best,
)
from mixmood.selection.scan.parts import PartFolder

UNREADABLE = "cannot be read"
TOO_SIMILAR = "too similar to kept images"
N_NAMED = 5
"""Images that could not be read and are named in the record; the list names them all."""

REASONS = (
    *(KEPT, FOREIGN, COPY_OF_LABELLED, DUPLICATE, OVER_COUNT),
    *(UNREADABLE, TOO_MANY_OF_CLASS, TOO_SIMILAR),
)
"""All values of the column `reason`; an image's reason is kept as a place in this tuple."""


@dataclass(frozen=True)
class ScannedPool:
    """What a decision needs of all images at once: about 30 bytes for each.

    Attributes:
        scores: Shape (n,).
        classes: Predicted classes, shape (n,); -1 without classes.
        reasons: Why an image cannot be kept whatever it scores, as places in REASONS, shape (n,).
        problems: What was wrong with the first images that could not be read.
    """

    scores: NDArray[np.float64]
    classes: NDArray[np.int32]
    reasons: NDArray[np.uint8]
    problems: tuple[str, ...] = ()

    @property
    def is_candidate(self) -> NDArray[np.bool_]:
        """Which images may be kept."""
        return np.asarray(self.reasons == 0)


def gather_parts(parts: PartFolder) -> ScannedPool:
    """The whole pool from its parts; copies and duplicates are found here."""
    # Codes first, and freed: the parts are read twice, and no more is held than must be.
    reasons, problems = _reasons_of_parts(parts)
    scores, classes = np.empty(len(parts)), np.empty(len(parts), np.int32)
    for start, part in parts:
        own = slice(start, start + len(part))
        scores[own], classes[own] = part.scores, part.classes
    return ScannedPool(scores, classes, reasons, tuple(problems))


def _reasons_of_parts(parts: PartFolder) -> tuple[NDArray[np.uint8], list[str]]:
    reasons, codes = np.zeros(len(parts), np.uint8), np.empty((len(parts), 2), np.uint64)
    problems: list[str] = []
    for start, part in parts:
        own = slice(start, start + len(part))
        codes[own] = part.codes
        reasons[own][part.is_copy] = REASONS.index(COPY_OF_LABELLED)
        reasons[own][~part.is_readable] = REASONS.index(UNREADABLE)
        problems += part.problems[~part.is_readable][: N_NAMED - len(problems)].tolist()
    # A copy of a labelled image may be what a pool image is a duplicate of: it is compared too.
    repeated, _ = originals(codes, reasons != REASONS.index(UNREADABLE))
    reasons[repeated[reasons[repeated] == 0]] = REASONS.index(DUPLICATE)
    return reasons, problems


def decide(
    pool: ScannedPool, rule: KeepRule, auto_threshold: float, n_balanced_classes: int = 0
) -> NDArray[np.uint8]:
    """The reason for each image, as a place in REASONS; 0 is kept. Shape (n,).

    A share is a share of all images of the pool. Copies are never kept; under a share or a count
    the next best take their place.

    Args:
        pool: The scanned pool.
        rule: What to keep.
        auto_threshold: The threshold of `--keep auto`, from the fitted filter.
        n_balanced_classes: Keep as many of each of so many classes; 0 for no balance.
    """
    is_like = keep_above(pool.scores, auto_threshold)
    if rule.is_auto:
        is_kept = is_like & pool.is_candidate
    elif rule.threshold is not None:
        is_kept = keep_above(pool.scores, rule.threshold) & pool.is_candidate
    else:
        n_kept = rule.count or max(1, round((rule.share or 0.0) * len(pool.scores)))
        is_kept = keep_best(pool.scores, n_kept, pool.is_candidate)
    reasons = pool.reasons.copy()
    # A requested number may be smaller than the useful part: the rest is not called foreign.
    is_limited = not (rule.is_auto or rule.threshold is not None)
    dropped = np.where(is_like & is_limited, REASONS.index(OVER_COUNT), REASONS.index(FOREIGN))
    is_dropped = pool.is_candidate & ~is_kept
    reasons[is_dropped] = dropped[is_dropped]
    if n_balanced_classes:
        stays = balanced(pool.scores, pool.classes, is_kept, n_balanced_classes)
        reasons[is_kept & ~stays] = REASONS.index(TOO_MANY_OF_CLASS)
    return reasons
