"""What a ranking leaves behind: frozen, versioned, the same bytes for the same inputs."""

import json
from dataclasses import asdict, dataclass
from typing import Any

SCHEMA = 1
SIGNIFICANT = 0.05
"""The p-value below which a difference is taken for one."""


@dataclass(frozen=True)
class Dissimilarity:
    """How far one pool is from the labelled set by one measure, and how sure that is.

    Attributes:
        distance: Mean over the draws of |inter - intra|.
        spread: Standard deviation of |inter - intra| over the draws.
        signed: Mean over the draws of inter - intra.
        p_wilcoxon: Paired signed-rank test of inter against intra, as in the paper. It shrinks
            with the number of draws, whatever the data: read `p_permutation`.
        p_permutation: Share of random re-partitions of the images that lie as far apart.
        p_holm: The same, corrected for the number of pools compared.
        interval: 95 % interval of the distance, from leaving groups of images out.
        inter: Distance labelled to pool, one per draw.
        intra: Distance labelled to other labelled images, one per draw.
    """

    distance: float
    spread: float
    signed: float
    p_wilcoxon: float
    p_permutation: float
    p_holm: float
    interval: tuple[float, float]
    inter: tuple[float, ...]
    intra: tuple[float, ...]


@dataclass(frozen=True)
class NoiseFloor:
    """The same distance between disjoint parts of the labelled set: what "no difference" gives."""

    distance: float
    spread: float
    upper: float
    sample_size: int


@dataclass(frozen=True)
class LabelledSet:
    """The labelled side of a ranking."""

    name: str
    n_images: int
    n_unreadable: int
    n_read: int
    fingerprint: str
    classes: dict[str, int] | None


@dataclass(frozen=True)
class Candidate:
    """One pool in its place."""

    rank: int
    name: str
    n_images: int
    n_unreadable: int
    n_read: int
    fingerprint: str
    measures: dict[str, Dissimilarity]
    p_best: float
    rank_interval: tuple[int, int]
    warnings: tuple[str, ...]

    @property
    def distance(self) -> float:
        """The distance by the measure that ranks."""
        return next(iter(self.measures.values())).distance


@dataclass(frozen=True)
class Ranking:
    """Pools ordered by their distance from a labelled set, nearest first."""

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
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The ranking as plain lists and dictionaries."""
        return asdict(self)

    def to_json(self) -> str:
        """The ranking as JSON text; equal inputs and seeds give equal bytes."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
