"""What the page to label on shows: images with guesses, and the classes to choose from."""

from dataclasses import dataclass

from mixmood.core.records.ranking import JsonRecord

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
    """

    title: str
    lead: str
    classes: tuple[str, ...]
    images: tuple[LabelImage, ...]
    command: str | None = None
