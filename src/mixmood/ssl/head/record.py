"""The record of a head: its algorithm, its accuracy and its data."""

import json
from dataclasses import asdict, dataclass, field, fields
from html import escape
from typing import Any

from mixmood.core.errors import InputError, reason
from mixmood.core.version import __version__

SCHEMA = 1
MODEL = "head"


@dataclass(frozen=True)
class HeadAccuracy:
    """The share of images that are classified correctly by heads not trained on them."""

    cross_validated: float | None
    """Cross-validated on the labelled images; nested if the algorithm was chosen on them. If the
    backbone was chosen on them, `choice_optimism` is subtracted. None if it cannot be estimated."""
    interval: tuple[float, float] | None
    """The 95 % interval of `cross_validated`."""
    test: float | None
    """On the test images; None without test images."""
    choice_optimism: float | None = None
    """The share that was subtracted because the backbone was chosen on the same images. None if
    none was chosen, or if the optimism cannot be estimated; a warning then says so."""

    def after_choice(self, optimism: float | None) -> "HeadAccuracy":
        """The accuracy, less the optimism of choosing the backbone on the same images."""
        if self.cross_validated is None or self.interval is None or optimism is None:
            return self
        low, value = (max(0.0, one - optimism) for one in (self.interval[0], self.cross_validated))
        # The optimism is itself uncertain: the upper end stays where it is.
        return HeadAccuracy(value, (low, self.interval[1]), self.test, optimism)


@dataclass(frozen=True)
class AlgorithmGain:
    """An algorithm that uses the pool compared with the supervised head on held-out images."""

    algorithm: str
    points: float
    """Difference of the accuracies in percentage points."""
    interval: tuple[float, float]
    is_clear: bool
    """Whether it is clearly better; see `heads.evaluation.compare.CLEAR`."""


@dataclass(frozen=True, repr=False)
class HeadRecord:
    """One head: how it was chosen and trained, and its accuracy."""

    algorithm: str
    asked: str
    """The algorithm that was asked for, such as `auto`."""
    reason: str
    """One sentence: why this algorithm."""
    accuracy: HeadAccuracy
    gains: tuple[AlgorithmGain, ...]
    class_names: tuple[str, ...]
    class_counts: tuple[int, ...]
    n_labelled: int
    n_pool: int
    """Images in the pool."""
    n_unlabelled: int
    """Images of the pool that were used for training."""
    n_test: int
    n_unreadable: int
    n_groups: int | None
    backbone: dict[str, Any] | None
    """None if features were given instead of images."""
    pixel_range: dict[str, float] | None
    takes: str
    """The input of `model.onnx`: `images`, or `features` if the backbone is no ONNX graph."""
    temperature: float
    threshold: float | None
    """An image less typical than this is none of the classes."""
    confusion: tuple[tuple[float, ...], ...] | None
    """Counts of images by class (rows) and by the class predicted out of fold (columns)."""
    pool_shares: dict[str, float] | None
    """Predicted share of each class in the pool."""
    n_changed: int | None
    """Images of the pool for which the supervised head predicts another class."""
    seed: int
    elapsed_s: float
    warnings: tuple[str, ...] = ()
    model: str = field(default=MODEL, init=False)

    def summary_line(self) -> str:
        """Model, algorithm and accuracy in one line."""
        found = self.accuracy
        if found.cross_validated is None or found.interval is None:
            return f"head, {self.algorithm}: accuracy unknown"
        low, high = found.interval
        return (
            f"head, {self.algorithm}: accuracy {found.cross_validated:.3f} "
            f"({low:.3f} to {high:.3f}), cross-validated"
        )

    def __repr__(self) -> str:
        """One line; `to_json` has all of it."""
        return f"<HeadRecord: {self.summary_line()}>"

    def _repr_html_(self) -> str:
        """The same, for notebooks."""
        return f"<p>{escape(self.summary_line())}</p>"

    def to_json(self) -> str:
        """The record as JSON."""
        head = {"schema": SCHEMA, "mixmood": __version__, "model": self.model}
        return json.dumps(head | asdict(self), indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "HeadRecord":
        """The record from its JSON text."""
        try:
            content = json.loads(text)
            if content["schema"] != SCHEMA or content["model"] != MODEL:
                raise ValueError(f"it is of schema {content['schema']}, model {content['model']}")
            values = {one.name: content[one.name] for one in fields(cls) if one.init}
            values["accuracy"] = HeadAccuracy(**_tuples(values["accuracy"]))
            values["gains"] = tuple(AlgorithmGain(**_tuples(gain)) for gain in values["gains"])
            return cls(**_tuples(values))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(f"This is no record of a head: {reason(error)}.") from error


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    """The values with lists, which JSON has instead of tuples, converted to tuples."""
    return {
        name: _tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }


def _tuple(values: list[Any]) -> tuple[Any, ...]:
    return tuple(_tuple(one) if isinstance(one, list) else one for one in values)
