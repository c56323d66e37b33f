"""The record of a checked labelled set."""

from dataclasses import dataclass
from typing import Any

from mixmood.core.records.ranking import JsonRecord

SCHEMA = 1
LABEL, COPY, UNLIKE = "label", "copy", "unlike"
CONFUSED, SMALL, TEST = "confused", "small", "test"  # the names of the checks


@dataclass(frozen=True)
class _Image:
    """One labelled image, as its pool names it."""

    path: str
    index: int
    label: str
    suggested: str  # another class that it may have, such as the most probable one; or empty


@dataclass(frozen=True)
class CheckedImage(_Image):
    """One labelled image with its scores by check, and the checks that flag it."""

    scores: dict[str, float]  # 0 to 1, larger is worse; of `confused`, `small` for the whole class
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Finding(_Image):
    """One image that one check flags; or does not, in a table of all images."""

    score: float  # from 0 to 1: larger is worse
    flag: bool
    check: str
    why: str


@dataclass(frozen=True)
class CheckSummary:
    """One check, how many images it flags, and what it found, in one sentence."""

    name: str
    n_flagged: int
    sentence: str


@dataclass(frozen=True)
class ConfusedPair:
    """Two classes, and the share and the number of their images that are taken for the other."""

    classes: tuple[str, str]
    share: float
    n_images: int


@dataclass(frozen=True)
class Measured:
    """A value between 0 and 1 with its 95 % interval; differences may be negative."""

    value: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class WithoutFlaggedRecord:
    """Accuracy on held-out images of classifiers with all labels, and without the flagged ones.

    Both are measured by the labels as given: where some of these are wrong, they are too low.
    """

    before: Measured
    after: Measured
    gain: Measured


@dataclass(frozen=True)
class LabelCheck(JsonRecord):
    """What looks wrong in a labelled set."""

    schema: int
    mixmood: str
    seed: int
    labelled: str
    n_images: int  # images that could be read
    n_unreadable: int
    classes: dict[str, int]  # how many readable images each class has
    accuracy: Measured | None  # of heads on held-out images; None if none can be held out
    checks: tuple[CheckSummary, ...]
    findings: tuple[Finding, ...]  # the flagged images, the worst first
    confused: tuple[ConfusedPair, ...]  # pairs of classes that are confused, the worst first
    without_flagged: WithoutFlaggedRecord | None  # None if none is flagged, or it is not measured
    images: tuple[CheckedImage, ...]  # all images, in the order of the set
    backbone: dict[str, Any]
    view: dict[str, Any] | None  # resolution and depth of the features; None for given features
    warnings: tuple[str, ...]  # facts that may make the result wrong

    @property
    def n_flagged(self) -> int:
        """How many images are flagged by a check of single images."""
        return len({one.index for one in self.findings})
