"""The record of images that are worth a label, and what the page to label on shows."""

from dataclasses import dataclass
from typing import Any

from mixmood.core.records.ranking import JsonRecord, ShareRecord

MOST_IMAGES = 500  # pictures on a page: they are inside it


@dataclass(frozen=True)
class LabelImage:
    """One image that a person is asked about, as its pool names it, and why it is shown.

    `guesses` are classes with their probabilities, the most probable first.
    """

    pool: str
    path: str
    index: int
    guesses: tuple[tuple[str, float], ...] = ()
    label: str | None = None
    note: str = ""


@dataclass(frozen=True)
class LabelTask(JsonRecord):
    """The content of a page to label on, but for its pictures."""

    title: str  # the question, with the lead as a sentence below it
    lead: str
    classes: tuple[str, ...]  # in the order of their keys; empty if images are kept or dropped
    images: tuple[LabelImage, ...]  # at most MOST_IMAGES
    command: str | None = None  # a command that reads the saved labels; None without one
    file: str = "mixmood-labels.csv"  # the name under which they are saved


SCHEMA = 1


@dataclass(frozen=True)
class Proposal:
    """An image that is worth a label, as its pool names it.

    `score` is that of `filter`, `useful` the chance that it belongs to one of the classes;
    `guesses` are classes and their probabilities, the most probable first; `nearest` is the
    nearest labelled image, and `reason` says why its label would help.
    """

    pool: str
    path: str
    index: int
    score: float
    useful: float
    guesses: tuple[tuple[str, float], ...]
    nearest: str
    reason: str


@dataclass(frozen=True)
class AskedPool:
    """How many images of a pool are proposed, of the `n_useful` that may be.

    These are readable, no copies, and like the labelled ones. `advice` says what to do with the
    pool without labels, `gain` what it then gains, in points; None if that was not measured.
    """

    name: str
    n_images: int
    n_useful: int
    n_proposed: int
    useful_share: ShareRecord
    advice: str
    gain: float | None


@dataclass(frozen=True)
class LabelPoints:
    """What labels are worth, in points of accuracy, by the learning curve of the labelled images.

    `chosen` if the proposed images are labelled, `random` if as many random images of the pools
    are; `unlabelled` is what the advised `pools` gain without any label, None if none is advised.
    Intervals are of 95 %.
    """

    n_labels: int
    chosen: float
    chosen_interval: tuple[float, float]
    random: float
    unlabelled: float | None
    unlabelled_interval: tuple[float, float] | None
    pools: tuple[str, ...]


@dataclass(frozen=True)
class Proposals(JsonRecord):
    """The images that are worth a label, the most valuable first."""

    schema: int
    mixmood: str
    seed: int
    labelled: str
    count: int  # how many were asked for
    n_labelled: int  # labelled images that the choice is based on
    classes: tuple[str, ...]
    images: tuple[Proposal, ...]
    pools: tuple[AskedPool, ...]
    worth: LabelPoints | None  # what their labels are worth; None if the learning curve cannot tell
    answer: str  # what to do, in one sentence
    next: str | None  # the command that uses the new labels; None if the sets are not paths
    labels_file: str  # the name under which the page saves them
    backbone: dict[str, Any]
    view: dict[str, Any] | None  # resolution and depth of the features; None for given features
    warnings: tuple[str, ...]  # facts that may make the result wrong
