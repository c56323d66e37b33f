"""Decides which images of a scanned pool are kept, and why the others are not."""

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
"""How many unreadable images the record names; the list names them all."""

REASONS = (
    *(KEPT, FOREIGN, COPY_OF_LABELLED, DUPLICATE, OVER_COUNT),
    *(UNREADABLE, TOO_MANY_OF_CLASS, TOO_SIMILAR),
)
"""All values of the column `reason`; arrays hold a reason as an index into this tuple."""


@dataclass(frozen=True)
class ScannedPool:
    """The values of all images that a decision needs, about 30 bytes for each image.

    Attributes:
        scores: Shape (n,).
        classes: Predicted classes, shape (n,); -1 without classes.
        reasons: Why an image cannot be kept whatever its score, as indices into REASONS,
            shape (n,); 0 for a candidate.
        problems: Why the first unreadable images could not be read.
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
    # The hash codes are read first and freed; reading the parts twice saves memory.
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
    # A pool image may be a duplicate of a copy of a labelled image: such copies are compared too.
    repeated, _ = originals(codes, reasons != REASONS.index(UNREADABLE))
    reasons[repeated[reasons[repeated] == 0]] = REASONS.index(DUPLICATE)
    return reasons, problems


def decide(
    pool: ScannedPool, rule: KeepRule, auto_threshold: float, n_balanced_classes: int = 0
) -> NDArray[np.uint8]:
    """The reason for each image, as an index into REASONS, shape (n,); 0 means kept.

    A share is a share of all images of the pool. Copies are never kept; if the rule is a share or
    a count, the next best images are kept instead.

    Args:
        pool: The scanned pool.
        rule: What to keep.
        auto_threshold: The threshold of `--keep auto`, from the fitted filter.
        n_balanced_classes: The number of classes to balance; 0 for no balance.
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
    # With a share or a count, a useful image may be dropped: its reason is not "unlike".
    is_limited = not (rule.is_auto or rule.threshold is not None)
    dropped = np.where(is_like & is_limited, REASONS.index(OVER_COUNT), REASONS.index(FOREIGN))
    is_dropped = pool.is_candidate & ~is_kept
    reasons[is_dropped] = dropped[is_dropped]
    if n_balanced_classes:
        stays = balanced(pool.scores, pool.classes, is_kept, n_balanced_classes)
        reasons[is_kept & ~stays] = REASONS.index(TOO_MANY_OF_CLASS)
    return reasons
