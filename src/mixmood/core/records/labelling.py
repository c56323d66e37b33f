"""The record of images that are worth a label, and what the page to label on shows."""

from dataclasses import dataclass
from typing import Any

from mixmood.core.records.ranking import JsonRecord, ShareRecord

MOST_IMAGES = 500
"""Pictures on a page: they are inside it."""


@dataclass(frozen=True)
class LabelImage:
    """One image that a person is asked about.

    Attributes:
        pool: The name of its pool in results.
        path: The image as its pool names it.
        index: Its index in the pool.
        guesses: Classes with their probabilities, the most probable first.
        label: The label that it has; None without one.
        note: Why it is shown, in a sentence.
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
        title: The question.
        lead: A sentence below it.
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
    """An image that is worth a label.

    Attributes:
        pool: The name of its pool.
        path: The image as its pool names it.
        index: Its index in the pool.
        score: Its score, as `filter` gives it.
        useful: The chance that it belongs to one of the classes.
        guesses: Classes and their probabilities, the most probable first.
        nearest: The nearest labelled image.
        reason: Why its label would help.
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
    """How many images of a pool are proposed, of how many that may be.

    Attributes:
        name: Its name.
        n_images: Images in the pool.
        n_useful: Images that may be proposed: readable, no copies, and like the labelled ones.
        n_proposed: Images that are proposed.
        useful_share: Its useful share.
        advice: What to do with it without labels: use, filter, unsure or avoid.
        gain: What it gains without labels, in points; None if that was not measured.
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

    Attributes:
        n_labels: How many labels.
        chosen: If the proposed images are labelled.
        chosen_interval: Its 95 % interval.
        random: If as many random images of the pools are labelled.
        unlabelled: What the advised pools gain without any label; None if none is advised.
        unlabelled_interval: Its 95 % interval.
        pools: The pools that are advised.
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
        classes: The classes of the labelled images.
        images: The proposed images.
        pools: The pools they come from.
        worth: What their labels are worth; None if the learning curve cannot tell.
        answer: What to do, in one sentence.
        next: The command that uses the new labels; None if the sets are not paths.
        labels_file: The name under which the page saves them.
        backbone: The network that computed the features.
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
