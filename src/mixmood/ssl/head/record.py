"""The record of a head: which one, how good, from what."""

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
    """The share of images classified rightly, each by a head that has not seen it."""

    cross_validated: float | None
    """On all labelled images; nested where an algorithm was chosen, and less `choice_optimism`
    where a backbone was. None if it cannot be."""
    interval: tuple[float, float] | None
    """95 % of it."""
    test: float | None
    """On the test images, where some were given."""
    choice_optimism: float | None = None
    """What was subtracted because the backbone was chosen on the same images, as a share; None
    where none was chosen, or where it cannot be known, which a warning then says."""

    def after_choice(self, optimism: float | None) -> "HeadAccuracy":
        """The same after a choice of the backbone that makes it too good by `optimism`."""
        if self.cross_validated is None or self.interval is None or optimism is None:
            return self
        low, value = (max(0.0, one - optimism) for one in (self.interval[0], self.cross_validated))
        # The optimism is itself uncertain: the upper end stays where it is.
        return HeadAccuracy(value, (low, self.interval[1]), self.test, optimism)


@dataclass(frozen=True)
class AlgorithmGain:
    """One algorithm that uses the pool against the supervised head, on the same held-out images."""

    algorithm: str
    points: float
    """Difference of the accuracies in percentage points."""
    interval: tuple[float, float]
    is_clear: bool
    """Whether it is clearly better; see `heads.evaluation.compare.CLEAR`."""


@dataclass(frozen=True, repr=False)
class HeadRecord:
    """One head: what it is, how it was chosen, how well it does."""

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
    """None where features were given."""
    pixel_range: dict[str, float] | None
    takes: str
    """What `model.onnx` takes: `images`, or `features` where the backbone is no ONNX graph."""
    temperature: float
    threshold: float | None
    """An image less typical than this is none of the classes."""
    confusion: tuple[tuple[float, ...], ...] | None
    """Images of each class (rows) by the class that was predicted out of fold."""
    pool_shares: dict[str, float] | None
    """Share of the pool that is predicted to be of each class."""
    n_changed: int | None
    """Images of the pool that the supervised head puts into another class."""
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
        """The record that was written."""
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
    """What JSON holds as lists, as the tuples that they were."""
    return {
        name: _tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }


def _tuple(values: list[Any]) -> tuple[Any, ...]:
    return tuple(_tuple(one) if isinstance(one, list) else one for one in values)
