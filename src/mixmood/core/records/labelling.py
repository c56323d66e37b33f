"""The record of images that are worth a label, and what the page to label on shows."""

from dataclasses import dataclass
from typing import Any

from mixmood.core.records.ranking import JsonRecord, ShareRecord

MOST_IMAGES = 500
"""Pictures on a page: they are inside it."""


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
    """The content of a page to label on, but for its pictures.

    Attributes:
        title: The question, with the lead as a sentence below it.
        classes: The classes in the order of their keys; empty if images are kept or dropped.
        images: At most MOST_IMAGES.
        command: A command that reads the saved labels; None without one.
        file: The name under which they are saved.
    """

    title: str
    lead: str
    classes: tuple[str, ...]
    images: tuple[LabelImage, ...]
    command: str | None = None
    file: str = "mixmood-labels.csv"


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
    """The images that are worth a label, the most valuable first.

    Attributes:
        count: How many were asked for.
        n_labelled: Labelled images that the choice is based on.
        worth: What their labels are worth; None if the learning curve cannot tell.
        answer: What to do, in one sentence.
        next: The command that uses the new labels; None if the sets are not paths.
        labels_file: The name under which the page saves them.
        view: Resolution and depth of the features; None for given features.
        warnings: Facts that may make the result wrong.
    """

    schema: int
    mixmood: str
    seed: int
    labelled: str
    count: int
    n_labelled: int
    classes: tuple[str, ...]
    images: tuple[Proposal, ...]
    pools: tuple[AskedPool, ...]
    worth: LabelPoints | None
    answer: str
    next: str | None
    labels_file: str
    backbone: dict[str, Any]
    view: dict[str, Any] | None
    warnings: tuple[str, ...]
