"""The page of a trained head, drawn from its record and its pictures."""

from collections.abc import Mapping
from dataclasses import dataclass

from mixmood.core.records.page_material import Tile
from mixmood.core.version import __version__
from mixmood.heads.evaluation.compare import CLEAR
from mixmood.report.page.render import render
from mixmood.ssl.head.record import HeadRecord

MOST_CLASSES = 20
"""With more classes, the page has no confusion matrix; the record has it."""


@dataclass(frozen=True)
class Mistakes:
    """Labelled images of one class that were predicted as another when they were held out."""

    true: str
    predicted: str
    n_images: int
    tiles: tuple[Tile, ...]


@dataclass(frozen=True)
class TrainingPictures:
    """What the page shows beyond the record."""

    labelled: str
    """The name of the labelled set."""
    pool: str | None
    mistakes: tuple[Mistakes, ...]
    """The most frequent first."""
    surest: Mapping[str, tuple[Tile, ...]]
    """The images of the pool with the highest confidence, for each class."""


def training_page(
    record: HeadRecord, pictures: TrainingPictures, command: str | None = None
) -> str:
    """The page of a head, as HTML text."""
    is_small = record.confusion is not None and len(record.class_names) <= MOST_CLASSES
    return render(
        "training/training.html",
        record.to_json(),
        {
            "record": record,
            "pictures": pictures,
            "command": command,
            "confusion": _rows(record) if is_small else [],
            "clear": CLEAR,
            "mixmood": __version__,
        },
    )


def _rows(record: HeadRecord) -> list[tuple[str, int, list[tuple[float, bool]]]]:
    """Name and size of each class, and its cells: how many images, and whether that is right."""
    return [
        (name, count, [(cell, place == column) for column, cell in enumerate(row)])
        for place, (name, count, row) in enumerate(
            zip(record.class_names, record.class_counts, record.confusion or (), strict=True)
        )
    ]
