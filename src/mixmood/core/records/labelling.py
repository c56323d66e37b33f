"""The record of images that are worth a label, and what the page to label on shows."""

from dataclasses import dataclass
from typing import Any

from mixmood.core.records.ranking import JsonRecord, ShareRecord

MOST_IMAGES = 500  # pictures on a page: they are inside it


@dataclass(frozen=True)
class LabelImage:
    """One image that a person is asked about, as its pool names it, and why it is shown."""

    pool: str
    path: str
    index: int
    guesses: tuple[tuple[str, float], ...] = ()  # classes, the most probable first
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
    """An image that is worth a label, as its pool names it."""

    pool: str
    path: str
    index: int
    score: float  # that of `filter`
    useful: float  # the chance that it belongs to one of the classes
    guesses: tuple[tuple[str, float], ...]  # classes, the most probable first
    nearest: str  # the nearest labelled image
    reason: str  # why its label would help


@dataclass(frozen=True)
class AskedPool:
    """How many images of a pool are proposed, and what it is worth without labels."""

    name: str
    n_images: int
    n_useful: int  # those that may be proposed: readable, no copies, and like the labelled ones
    n_proposed: int
    useful_share: ShareRecord
    advice: str  # what to do with the pool without labels
    gain: float | None  # what it then gains, in points; None if that was not measured


@dataclass(frozen=True)
class LabelPoints:
    """What labels are worth, in points of accuracy, by the learning curve."""

    n_labels: int
    chosen: float  # if the proposed images are labelled, with its 95 % interval
    chosen_interval: tuple[float, float]
    random: float  # if as many random images of the pools are labelled
    unlabelled: float | None  # what advised pools gain without labels; None if none is advised
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
