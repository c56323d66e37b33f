"""The record of a filtered pool: frozen, versioned, the same bytes for the same inputs."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from mixmood.core.records.useful_share import ShareRecord

SCHEMA = 1


@dataclass(frozen=True)
class DistanceInterval:
    """How far a set is from the labelled images, with a 95 % interval."""

    distance: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class DistanceChange:
    """How far the whole pool and its kept part are from the labelled images, as `rank` measures it.

    Attributes:
        measure: The name of the measure.
        sample_size: Images in a draw; the same for both.
        whole: The distance of a random sample of the pool.
        kept: The distance of a random sample of the kept images.
    """

    measure: str
    sample_size: int
    whole: DistanceInterval
    kept: DistanceInterval


@dataclass(frozen=True)
class GainInterval:
    """The expected gain of a head by a set of images, in points, as `rank` measures it."""

    gain: float
    interval: tuple[float, float]
    p_helps: float


@dataclass(frozen=True)
class GainChange:
    """The expected gain of the whole pool and of its kept part, for one kind of head."""

    algorithm: str
    whole: GainInterval
    kept: GainInterval


@dataclass(frozen=True)
class Filtering:
    """The images of a pool that were kept, and how they were chosen.

    Attributes:
        keep: The option `keep`: auto, a share, a count or a threshold.
        score: The family of the score.
        threshold: A kept image has at least this score; None if nothing was kept.
        typical: The share of labelled images that reach the threshold.
        n_labelled: Labelled images that the filter was fitted on.
        n_images: Images in the pool.
        n_kept: How many of them are kept.
        n_unreadable: How many could not be read.
        reasons: How many were dropped for each reason.
        useful_share: The estimated useful share.
        classes: How many of the kept images the classifier puts into each class; None without
            labels.
        distance: Distances before and after; None with a saved filter, or where too few images are
            kept.
        probe: Expected gains before and after; None without classes, with a saved filter, or where
            too few images are kept.
        backbone: The network that computed the features.
        warnings: Facts that may make the result wrong.
    """

    schema: int
    mixmood: str
    seed: int
    labelled: str
    pool: str
    keep: str
    score: str
    threshold: float | None
    typical: float | None
    n_labelled: int
    n_images: int
    n_kept: int
    n_unreadable: int
    reasons: dict[str, int]
    useful_share: ShareRecord
    classes: dict[str, int] | None
    distance: DistanceChange | None
    probe: GainChange | None
    backbone: dict[str, Any]
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The record as plain lists and dictionaries."""
        return asdict(self)

    def to_json(self) -> str:
        """The record as JSON text; equal inputs and seeds give equal bytes."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
