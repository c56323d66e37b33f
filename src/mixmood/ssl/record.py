"""The record of a training run: frozen, versioned, written as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from html import escape
from statistics import median
from typing import Any

from mixmood.core.errors import InputError, reason
from mixmood.core.version import __version__
from mixmood.core.words import counted

SCHEMA = 1
N_LAST = 5
"""How many of the last epochs the median is taken over."""


@dataclass(frozen=True)
class EpochRecord:
    """One epoch: mean losses, shares of guesses, and the accuracies at its end."""

    epoch: int
    """Counted from 1."""
    n_updates: int
    """Updates since the beginning of the run."""
    learning_rate: float
    loss: float
    loss_labelled: float
    loss_unlabelled: float | None
    share_dropped: float | None
    """Share of the unlabelled images that the mask left out; None without a mask."""
    pseudo_label_shares: tuple[float, ...] | None
    """Share of the unlabelled images guessed to be of each class."""
    test_accuracy: float
    validation_accuracy: float | None
    elapsed_s: float
    share_sure: float | None = None
    """Share of the guesses that reached the threshold; None for algorithms without one."""


@dataclass(frozen=True, repr=False)
class TrainingRecord:
    """One run: its configuration, its epochs and its accuracies."""

    configuration: dict[str, Any]
    class_names: tuple[str, ...]
    n_labelled: int
    n_unlabelled: int
    n_test: int
    n_validation: int
    n_parameters: int
    device: str
    n_threads: int
    epochs: tuple[EpochRecord, ...]
    elapsed_s: float
    images_per_s: float
    """Labelled and unlabelled images trained on per second, without the time for testing."""
    warnings: tuple[str, ...] = ()
    pixel_range: dict[str, float] | None = None
    """The values that are scaled to black and to white in images of more than eight bits."""
    schema: int = SCHEMA
    mixmood: str = __version__

    @property
    def best_epoch(self) -> int:
        """The first epoch with the highest test accuracy."""
        return max(self.epochs, key=lambda e: (e.test_accuracy, -e.epoch)).epoch

    @property
    def accuracy_best(self) -> float:
        """Test accuracy of the best epoch, as the paper reports; it is optimistic."""
        return max(epoch.test_accuracy for epoch in self.epochs)

    @property
    def accuracy_last(self) -> float:
        """Test accuracy after the last epoch."""
        return self.epochs[-1].test_accuracy

    @property
    def accuracy_median(self) -> float:
        """Median test accuracy of the last five epochs."""
        return median(epoch.test_accuracy for epoch in self.epochs[-N_LAST:])

    @property
    def selected_epoch(self) -> int | None:
        """The last epoch with the highest validation accuracy; None without validation images.

        The last one, because ties are common in small validation sets, and later epochs are better
        trained.
        """
        chosen = select(self.epochs)
        return None if chosen is None else chosen.epoch

    @property
    def accuracy_selected(self) -> float | None:
        """Test accuracy of the epoch selected on the validation images."""
        chosen = select(self.epochs)
        return None if chosen is None else chosen.test_accuracy

    def summary(self) -> dict[str, float | int | None]:
        """The test accuracy by each way to choose the epoch, and the chosen epochs."""
        return {
            "accuracy_last": self.accuracy_last,
            "accuracy_median": self.accuracy_median,
            "accuracy_selected": self.accuracy_selected,
            "selected_epoch": self.selected_epoch,
            "accuracy_best": self.accuracy_best,
            "best_epoch": self.best_epoch,
        }

    def summary_line(self) -> str:
        """Algorithm and accuracy in one line."""
        name, last = self.configuration["algorithm"], self.accuracy_last
        return f"network, {name}: test accuracy {last:.3f} on {counted(self.n_test, 'image')}"

    def __repr__(self) -> str:
        """One line; `to_json` has all of it."""
        return f"<TrainingRecord: {self.summary_line()}>"

    def _repr_html_(self) -> str:
        """The same, for notebooks."""
        return f"<p>{escape(self.summary_line())}</p>"

    def to_json(self) -> str:
        """The record as JSON, with its summary."""
        content = {"schema": self.schema, "mixmood": self.mixmood, "summary": self.summary()}
        return json.dumps(content | asdict(self), indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "TrainingRecord":
        """The record from its JSON text."""
        try:
            content = json.loads(text)
            if content["schema"] != SCHEMA:
                raise InputError(
                    f"A training record of schema {SCHEMA} was wanted; got {content['schema']}. "
                    "Read it with the version of mixmood that wrote it."
                )
            content = {"pixel_range": None} | content  # earlier versions did not write it
            values = {field.name: content[field.name] for field in fields(cls)}
            values["epochs"] = epochs_from(values["epochs"])
            for name in ("class_names", "warnings"):
                values[name] = tuple(values[name])
            record = cls(**values)
            # The summary compares values, so that values of a wrong type raise an error here.
            record.summary()
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(f"This is no training record: {reason(error)}.") from error
        return record


def select(epochs: Sequence[EpochRecord]) -> EpochRecord | None:
    """The last epoch with the highest validation accuracy; None without validation images."""
    tried = [e for e in epochs if e.validation_accuracy is not None]
    return max(tried, key=lambda e: (e.validation_accuracy, e.epoch)) if tried else None


def epochs_from(rows: list[dict[str, Any]]) -> tuple[EpochRecord, ...]:
    """Epochs from their JSON objects."""
    epochs = []
    for row in rows:
        shares = row["pseudo_label_shares"]
        values = row | {"pseudo_label_shares": None if shares is None else tuple(shares)}
        epochs.append(EpochRecord(**values))
    return tuple(epochs)


def to_jsonl(epochs: Sequence[EpochRecord]) -> str:
    """One line of JSON for each epoch."""
    return "".join(json.dumps(asdict(epoch), allow_nan=False) + "\n" for epoch in epochs)
