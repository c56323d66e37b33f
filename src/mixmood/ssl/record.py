"""The records of a trained network and of a trained head: frozen, versioned, written as JSON."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from statistics import median
from typing import Any, Literal, Self

from mixmood.core.errors import InputError, errors_as
from mixmood.core.text import counted
from mixmood.core.version import __version__

SCHEMA: Literal[1] = 1
N_LAST = 5  # how many of the last epochs the median is taken over

Arm = Literal["A", "B", "C", "D"]
"""How a network is tested: with test images standardised as the labelled images (A, C) or as the
pool (B, D), with running batch-norm statistics of the training passes (A, B) or of these and the
guesses (C, D). A is what `mixmood train` reports, D what the code of the paper's authors does."""


@dataclass(frozen=True)
class EpochRecord:
    """One epoch: mean losses, shares of guesses, and the accuracies at its end."""

    epoch: int  # counted from 1
    n_updates: int  # updates since the beginning of the run
    learning_rate: float
    loss: float
    loss_labelled: float
    loss_unlabelled: float | None
    share_dropped: float | None  # of the unlabelled images, by the mask; None without one
    pseudo_label_shares: tuple[float, ...] | None  # of the guesses, by class
    test_accuracy: float
    validation_accuracy: float | None
    elapsed_s: float
    share_sure: float | None = None  # of the guesses; None without a threshold


class _Record(ABC):
    """A record that is shown in one line."""

    @abstractmethod
    def summary_line(self) -> str:
        """The model, its algorithm and its accuracy in one line."""

    def __repr__(self) -> str:
        """One line; `to_json` has all of it."""
        return f"<{type(self).__name__}: {self.summary_line()}>"

    def _repr_html_(self) -> str:
        """The page of the run, which notebooks show."""
        return f"<p>{escape(self.summary_line())}</p>"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The record from its JSON text; InputError if it is none."""
        from pydantic import TypeAdapter

        with errors_as(InputError, f"This is no {cls.__name__}"):
            return TypeAdapter(cls).validate_json(text)


@dataclass(frozen=True, repr=False)
class TrainingRecord(_Record):
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
    images_per_s: float  # labelled and unlabelled ones, without the time for testing
    warnings: tuple[str, ...] = ()
    pixel_range: dict[str, float] | None = None  # for more than eight bits: black and white
    schema: Literal[1] = SCHEMA
    mixmood: str = __version__

    def __post_init__(self) -> None:
        """Refuse a run without epochs, which has no accuracy."""
        if not self.epochs:
            raise ValueError("a run has at least one epoch")

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
        """The epoch selected on the validation images; see `select`."""
        chosen = select(self.epochs)
        return None if chosen is None else chosen.epoch

    @property
    def accuracy_selected(self) -> float | None:
        """Test accuracy of the epoch selected on the validation images."""
        chosen = select(self.epochs)
        return None if chosen is None else chosen.test_accuracy

    def summary(self) -> dict[str, float | int | None]:
        """The test accuracy by each way to choose the epoch, and the chosen epochs."""
        names = ("accuracy_last", "accuracy_median", "accuracy_selected", "selected_epoch")
        return {name: getattr(self, name) for name in (*names, "accuracy_best", "best_epoch")}

    def summary_line(self) -> str:
        """Algorithm and accuracy in one line."""
        name, last = self.configuration["algorithm"], self.accuracy_last
        return f"network, {name}: test accuracy {last:.3f} on {counted(self.n_test, 'image')}"

    def to_json(self) -> str:
        """The record as JSON, with its summary."""
        content = {"schema": self.schema, "mixmood": self.mixmood, "summary": self.summary()}
        return json.dumps(content | asdict(self), indent=1, allow_nan=False) + "\n"


def select(epochs: Sequence[EpochRecord]) -> EpochRecord | None:
    """The last epoch with the highest validation accuracy; None without validation images."""
    tried = [e for e in epochs if e.validation_accuracy is not None]
    return max(tried, key=lambda e: (e.validation_accuracy, e.epoch)) if tried else None


def to_jsonl(epochs: Sequence[EpochRecord]) -> str:
    """One line of JSON for each epoch."""
    return "".join(json.dumps(asdict(epoch), allow_nan=False) + "\n" for epoch in epochs)


HEAD = "head"


@dataclass(frozen=True)
class HeadAccuracy:
    """The share of images that are classified correctly by heads not trained on them."""

    cross_validated: float | None
    """Cross-validated on the labelled images; nested if the view or the algorithm was
    chosen on them. None if it cannot be estimated."""
    interval: tuple[float, float] | None  # the 95 % interval of `cross_validated`
    test: float | None  # on the test images; None without test images
    balanced: float | None = None  # mean of `cross_validated` over the classes
    never_predicted: tuple[str, ...] = ()  # classes with no held-out image classified correctly


@dataclass(frozen=True)
class MeasuredGain:
    """The accuracy of the head minus that of the supervised one, on the same held-out images."""

    points: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class PoolUse:
    """What was done with one pool, and why."""

    name: str
    n_images: int
    n_used: int  # how many of its images were trained with
    advice: str | None  # what `rank` would say of it; None if the algorithm was named
    reason: str
    gain: float | None = None  # its expected gain in points, alone; None if it was not measured
    interval: tuple[float, float] | None = None
    p_helps: float | None = None


@dataclass(frozen=True, repr=False)
class HeadRecord(_Record):
    """One head: how it was chosen and trained, and its accuracy."""

    algorithm: str
    asked: str  # the algorithm that was asked for, such as `auto`
    reason: str  # one sentence: why this algorithm
    accuracy: HeadAccuracy
    measured: MeasuredGain | None  # against the supervised head; None if no pool was used
    class_names: tuple[str, ...]
    class_counts: tuple[int, ...]
    n_labelled: int
    n_pool: int  # images in the pools
    n_unlabelled: int  # images of the pools that were used for training
    n_test: int
    n_unreadable: int
    n_groups: int | None
    backbone: dict[str, Any] | None  # None if features were given instead of images
    pixel_range: dict[str, float] | None
    takes: str  # input of `model.onnx`: `images`, or `features` if the backbone is no ONNX graph
    temperature: float
    threshold: float | None  # an image less typical than this is none of the classes
    confusion: tuple[tuple[float, ...], ...] | None  # counts by class (rows), predicted class
    pool_shares: dict[str, float] | None  # predicted share of each class in the pool
    n_changed: int | None  # images of the pool for which the supervised head predicts another class
    seed: int
    elapsed_s: float
    warnings: tuple[str, ...] = ()
    view: dict[str, Any] | None = None  # resolution, depth, and what was compared
    pools: tuple[PoolUse, ...] = ()
    model: str = field(default=HEAD, init=False)

    @property
    def accuracy_words(self) -> str:
        """The accuracy with its interval; the mean over classes too where their sizes differ."""
        found = self.accuracy
        if found.cross_validated is None or found.interval is None:
            return "accuracy unknown"
        low, high = found.interval
        words = f"accuracy {found.cross_validated:.3f} ({low:.3f} to {high:.3f}), cross-validated"
        if found.balanced is not None and max(self.class_counts) > 2 * min(self.class_counts):
            words += f", {found.balanced:.3f} as the mean over classes"
        return words

    def summary_line(self) -> str:
        """Model, algorithm and accuracy in one line."""
        return f"head, {self.algorithm}: {self.accuracy_words}"

    def to_json(self) -> str:
        """The record as JSON."""
        head = {"schema": SCHEMA, "mixmood": __version__, "model": self.model}
        return json.dumps(head | asdict(self), indent=1, allow_nan=False) + "\n"
