"""The record of a filtered pool, and the pictures of its page."""

from dataclasses import dataclass
from typing import Any

from mixmood.core.records.ranking import JsonRecord, ShareRecord, Tile

SCHEMA = 1


@dataclass(frozen=True)
class GainInterval:
    """The expected gain of a head by a set of images, in points, and the advice, as in `rank`."""

    gain: float
    interval: tuple[float, float]
    p_helps: float
    advice: str


@dataclass(frozen=True)
class GainChange:
    """The expected gain of the whole pool and of its kept part, for one kind of head."""

    algorithm: str
    whole: GainInterval
    kept: GainInterval


@dataclass(frozen=True)
class Filtering(JsonRecord):
    """The images of a pool that were kept, and how they were chosen."""

    schema: int
    mixmood: str
    seed: int
    labelled: str
    pool: str
    keep: str  # the option `keep`: auto, a share, a count or a threshold
    score: str  # the family of the score
    threshold: float | None  # a kept image has at least this score; None if nothing was kept
    typical: float | None  # the share of labelled images that reach the threshold
    n_labelled: int  # labelled images that the filter was fitted on
    n_images: int
    n_kept: int
    n_unreadable: int
    reasons: dict[str, int]  # how many were dropped for each reason
    useful_share: ShareRecord
    classes: dict[str, int] | None  # kept images that a classifier puts into each class
    probe: GainChange | None  # None without classes, with a saved filter, or if few are kept
    backbone: dict[str, Any]
    warnings: tuple[str, ...]  # facts that may make the result wrong
    view: dict[str, Any] | None = None  # with what it was compared; None for given features
    answer: str = ""  # whether to train with the kept images, in one sentence; empty without gains
    next: str | None = None  # the command that follows the answer; None if the sets are not paths


@dataclass(frozen=True)
class Gallery:
    """Images of one predicted class, or of the pool without classes; the best score first."""

    name: str | None
    n_kept: int
    n_dropped: int
    labelled: tuple[Tile, ...]
    kept: tuple[Tile, ...]
    borderline: tuple[Tile, ...]  # nearest to the threshold on both sides
    dropped: tuple[Tile, ...]  # because of their score


@dataclass(frozen=True)
class ScoreHistogram:
    """How many images have scores in each of the equal bins; the outer ones hold all beyond."""

    low: float
    high: float
    labelled: tuple[int, ...]
    pool: tuple[int, ...]
    kept: tuple[int, ...]


@dataclass(frozen=True)
class FilterMaterial:
    """Scores and pictures of a filtered pool; features have no galleries."""

    histogram: ScoreHistogram
    galleries: tuple[Gallery, ...]  # the classes with the most kept images first
    n_classes_left_out: int
