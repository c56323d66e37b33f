"""A trained model as HTML: the page of a head, and the small table of a notebook."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from mixmood.core.records.ranking import Tile
from mixmood.core.text import counted
from mixmood.core.version import __version__
from mixmood.report.page import fragment, render
from mixmood.ssl.record import HeadRecord, TrainingRecord

MOST_CLASSES = 20  # with more classes, the page has no confusion matrix; the record has it


class Mistakes(NamedTuple):
    """Labelled images of one class that were predicted as another when they were held out."""

    true: str
    predicted: str
    n_images: int
    tiles: tuple[Tile, ...]


@dataclass(frozen=True)
class TrainingPictures:
    """What the page shows beyond the record."""

    labelled: str  # the name of the labelled set
    mistakes: tuple[Mistakes, ...]  # the most frequent first
    surest: Mapping[str, tuple[Tile, ...]]  # of the pool, for each class


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
            "confusion": record.confusion if is_small else (),
            "mixmood": __version__,
        },
    )


def training_html(record: HeadRecord | TrainingRecord) -> str:
    """Accuracy, algorithm, images and warnings, as a fragment of HTML."""
    facts = _head_facts(record) if isinstance(record, HeadRecord) else _network_facts(record)
    return fragment(record.summary_line(), list(facts), [f"! {text}" for text in record.warnings])


def _head_facts(record: HeadRecord) -> Iterator[tuple[str, str]]:
    if record.accuracy.test is not None:
        yield "test", f"{record.accuracy.test:.3f} on {counted(record.n_test, 'image')}"
    yield "algorithm", f"{record.algorithm}: {record.reason}"
    for pool in record.pools:
        yield pool.name, f"{pool.advice or 'asked for'}; {pool.n_used} of {pool.n_images} used"
    yield "labelled", f"{record.n_labelled} images of {len(record.class_names)} classes"
    yield "pools", f"{record.n_unlabelled} of {counted(record.n_pool, 'image')} used"


def _network_facts(record: TrainingRecord) -> Iterator[tuple[str, str]]:
    yield "epochs", str(len(record.epochs))
    yield "median of the last five", f"{record.accuracy_median:.3f}"
    if record.accuracy_selected is not None:
        chosen = f"{record.accuracy_selected:.3f} (epoch {record.selected_epoch})"
        yield "selected on validation", chosen
    yield "labelled", f"{record.n_labelled} images of {len(record.class_names)} classes"
    yield "pool", counted(record.n_unlabelled, "image")
