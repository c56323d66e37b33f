"""The record of a ranking, and the pictures of its page."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mixmood.core.files import written
from mixmood.core.text import in_percent


@dataclass(frozen=True)
class JsonRecord:
    """A record that can be written: frozen dataclasses of numbers, texts and such records."""

    def to_dict(self) -> dict[str, Any]:
        """The record as plain lists and dictionaries."""
        return asdict(self)

    def to_json(self, path: str | Path | None = None) -> str:
        """The record as JSON text, equal for equal inputs; also written to `path`, if given."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        return written(text, path)


@dataclass(frozen=True)
class ShareRecord:
    """The part of a pool that looks like the labelled classes, 0 to 1, with its 95 % interval."""

    share: float
    interval: tuple[float, float]
    is_trustworthy: bool = True  # whether foreign images similar to the classes would be noticed
    note: str = ""  # why it is not

    def __str__(self) -> str:
        """The share and its interval.

        >>> str(ShareRecord(0.62, (0.51, 0.73)))
        '62 % (51 to 73)'
        """
        return in_percent(self.share, self.interval)


SCHEMA = 1
SIGNIFICANT = 0.05  # a pool is called different where its p-value is at or below this


@dataclass(frozen=True)
class Dissimilarity:
    """The distance of one pool from the labelled set by one measure, and its certainty."""

    distance: float  # mean over the draws of |inter - intra|
    spread: float  # standard deviation of |inter - intra| over the draws
    signed: float  # mean over the draws of inter - intra
    p_wilcoxon: float  # inter against intra, as in the paper; it shrinks with the number of draws
    p_permutation: float  # share of random partitions of the images that are as far apart
    p_holm: float  # the same, corrected for the number of pools compared
    interval: tuple[float, float]  # 95 %, from leaving groups of images out
    inter: tuple[float, ...] = field(repr=False)  # distance labelled to pool, one per draw
    intra: tuple[float, ...] = field(repr=False)  # labelled to other labelled, one per draw

    @property
    def is_different(self) -> bool:
        """Whether the p-value, corrected for the number of pools, is significant."""
        return self.p_holm <= SIGNIFICANT


@dataclass(frozen=True)
class RankedDissimilarity(Dissimilarity):
    """A distance with its certainty, and the rank of the pool by this measure."""

    rank: int  # 1 is the nearest
    p_best: float  # the probability that it is the nearest
    rank_interval: tuple[int, int]  # of 95 % probability


@dataclass(frozen=True)
class NoiseFloor:
    """The distance between disjoint parts of the labelled set: its value without a difference."""

    distance: float  # mean over the draws, and their standard deviation
    spread: float
    upper: float  # 95 % of the draws do not exceed it
    sample_size: int  # images in each part


@dataclass(frozen=True)
class LabelWorth:
    """The number of further labels that would give the same gain, and its 95 % interval."""

    labels: int
    interval: tuple[int, int | None]  # None where it cannot be told


@dataclass(frozen=True)
class Probe:
    """The gain of a pool, from cross-validation with it and without it; in points (percent).

    The gain is the expected accuracy on new images of the head trained with the pool, minus that of
    the supervised head. `order_error` is its standard error without the part common to all pools.
    """

    gain: float
    interval: tuple[float, float]  # 95 %, over labelled images, draw of the pool and training
    p_helps: float  # the probability that the gain is above 0
    algorithm: str  # the head that was trained with the pool
    change: float  # the measured change of the probability of the right class
    error: float  # the standard error of the change due to the labelled images
    accuracy: float  # cross-validated accuracy of the supervised head
    is_learnable: bool  # whether that accuracy is better than chance
    n_pool: int
    worth: LabelWorth | None = None  # the gain in labels; None where the learning curve cannot tell
    n_held_out: int | None = None
    order_error: float | None = None


@dataclass(frozen=True)
class Union:
    """The pools to train with, and their gain together."""

    pools: tuple[str, ...]
    probe: Probe


@dataclass(frozen=True)
class LabelledAccuracy:
    """How often a classifier is right on labelled images that it was not trained on."""

    value: float  # the share of right predictions, from 0 to 1, with its 95 % interval
    interval: tuple[float, float]
    balanced: float  # the mean over classes of the share of right predictions
    never_predicted: tuple[str, ...] = ()  # classes of which no image is ever predicted correctly
    n_images: int = 0  # the labelled images that were used, of a large set a sample


@dataclass(frozen=True)
class LabelledSet:
    """The labelled side of a ranking."""

    name: str
    n_images: int
    n_unreadable: int
    n_read: int
    fingerprint: str
    classes: dict[str, int] | None
    n_distinct: int | None = None  # of the `n_read` images
    accuracy: LabelledAccuracy | None = None  # without a pool; None if no gain was measured

    @property
    def is_imbalanced(self) -> bool:
        """Whether the largest class has more than twice the images of the smallest."""
        # Corrections may leave a class without images.
        sizes = [size for size in (self.classes or {}).values() if size]
        return bool(sizes) and max(sizes) > 2 * min(sizes)

    @property
    def n_used(self) -> int:
        """The labelled images on which accuracy and gains were measured; all if none was."""
        return (self.accuracy.n_images if self.accuracy else 0) or self.n_images


@dataclass(frozen=True)
class Candidate:
    """The results of one pool."""

    rank: int
    name: str
    n_images: int
    n_unreadable: int
    n_read: int
    fingerprint: str
    measures: dict[str, RankedDissimilarity]
    p_best: float
    rank_interval: tuple[int, int]
    warnings: tuple[str, ...]
    n_distinct: int | None = None  # of the `n_read` images
    classes: dict[str, float] | None = None  # predicted shares of each class; None without labels
    useful_share: ShareRecord | None = None
    probe: Probe | None = None
    advice: str | None = None
    advice_reason: str = ""
    nearness: str = "different"  # from the labelled set; or "same" or "nearer"

    @property
    def distance(self) -> float:
        """The distance by the measure of the ranking."""
        return next(iter(self.measures.values())).distance


@dataclass(frozen=True)
class SetAside:
    """A pool that could not be ranked."""

    name: str
    reason: str


@dataclass(frozen=True)
class Ranking(JsonRecord):
    """Pools in the order `by`: by gain, highest first, or by distance, nearest first."""

    schema: int
    mixmood: str
    seed: int
    backbone: dict[str, Any]
    sample_size: int
    draws: int
    paper: bool
    labelled: LabelledSet
    measure: str
    candidates: tuple[Candidate, ...]
    best: str
    verdict: str
    noise_floor: dict[str, NoiseFloor]
    warnings: tuple[str, ...]  # what may make the result wrong
    notes: tuple[str, ...] = ()  # differences from what was asked for, as a smaller sample size
    set_aside: tuple[SetAside, ...] = ()
    by: str = "distance"
    answer: str = ""  # what to do, in one sentence
    next: str | None = None  # the command that does it; None if the sets are not paths
    union: Union | None = None  # the pools that it trains with; None if with none
    view: dict[str, Any] | None = None  # with what it was compared; None for given features

    def ordered_by(self, measure: str) -> tuple[Candidate, ...]:
        """The pools in the order of one measure, nearest first."""
        return tuple(sorted(self.candidates, key=lambda one: one.measures[measure].rank))


@dataclass(frozen=True)
class Tile:
    """One image as a page shows it; a labelled one has no distance and no score."""

    place: str  # its path or index
    uri: str | None  # the small picture; None of features, and of files that cannot be read now
    distance: float | None = None  # 1 - mean cosine to the three nearest labelled images
    score: float | None = None  # of a filtered pool, as `is_kept`
    is_kept: bool | None = None


@dataclass(frozen=True)
class SetPictures:
    """One set, labelled or pool, as the page shows it."""

    tiles: tuple[Tile, ...]  # a random sample of the images; the points of the map
    points: tuple[tuple[float, float], ...]  # the position of each of these tiles on the map
    nearest: tuple[Tile, ...]  # nearest to the labelled set first; empty for that set itself
    farthest: tuple[Tile, ...]  # the images farthest from it, farthest first
    warnings: tuple[str, ...]  # differences in size or colour that may explain the distance


@dataclass(frozen=True)
class PageMaterial:
    """Pictures and map of a ranking, and versions of the libraries that computed the numbers."""

    labelled: SetPictures
    pools: dict[str, SetPictures]
    variance: tuple[float, float]  # the share of it along each axis of the map
    versions: dict[str, str]
