"""The record of a run, which may come from another machine: checked before a table uses it."""

from typing import Annotated, Any, Self, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_serializer,
    model_validator,
)

from mixmood.core.errors import InputError
from mixmood.core.text import check_name
from mixmood.ssl.record import Arm
from mixmood.testbed.cells import Cell, Run
from mixmood.testbed.plan import Choice

SCHEMA = 1

Number = Annotated[float, Field(allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
MeasureName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]  # in file names
Proportion = Annotated[float, Field(ge=0, le=1)]


class _Part(BaseModel):
    # Further keys, such as those of a training's configuration, are kept.
    model_config = ConfigDict(
        strict=True, frozen=True, extra="allow", validate_by_name=True, validate_by_alias=True
    )


class RunAccuracy(_Part):
    """Test accuracies of a run: one in the regime `frozen`, otherwise one for each choice."""

    best: Proportion | None = None
    last: Proportion | None = None
    median: Proportion | None = None
    validation: Proportion | None = None
    test: Proportion | None = None  # the only one of a run without epochs

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if self.test is None and None in (self.best, self.last, self.median):
            raise ValueError("either 'test' or 'best', 'last' and 'median' must be given")
        return self

    def by(self, choice: Choice) -> float:
        """The accuracy by a choice of epoch; without epochs there is only one."""
        check_name("selection", choice, get_args(Choice))
        value: float | None = self.test if self.test is not None else getattr(self, choice)
        if value is None:
            raise InputError(
                "The runs had no validation images to select an epoch by. Use another selection."
            )
        return value

    def to_dict(self) -> dict[str, float | None]:
        """The accuracies that this kind of run has."""
        if self.test is not None:
            return {"test": self.test}
        return {name: getattr(self, name) for name in ("best", "last", "median", "validation")}


class MeasuredDistance(_Part):
    """The distance of a run's pool by one measure; see `Dissimilarity`."""

    distance: Number
    spread: Number
    signed: Number
    p_wilcoxon: Number
    p_permutation: Number


class PoolShare(_Part):
    """The useful share of a run's pool; see `evidence.share`."""

    share: Proportion
    interval: tuple[Proportion, Proportion]
    is_trustworthy: bool


class PoolProbe(_Part):
    """The values that the probe measured for a run, in points; see `PoolEffect`."""

    algorithm: str
    change: Number
    error: Number
    unrest: Number
    accuracy: Number
    supervised: Number
    is_learnable: bool
    gain: Number  # this, and the next two, are by the map of the recorded version
    interval: tuple[Number, Number]
    p_helps: Proportion


class Epoch(_Part):
    """One epoch of a run's training; see `EpochRecord`."""

    epoch: int = 0
    test_accuracy: Proportion
    validation_accuracy: Proportion | None = None
    loss: Number | None = None
    loss_labelled: Number | None = None
    loss_unlabelled: Number | None = None
    pseudo_label_shares: list[Proportion] | None


class Training(_Part):
    """How a network was trained, without times."""

    configuration: dict[str, Any] = {}
    epochs: Annotated[list[Epoch], Field(min_length=1)]
    arms: dict[Arm, list[Proportion]] | None = None  # test accuracy after each epoch, by arm


class RunError(_Part):
    """The error that a run ended with."""

    kind: str = "Exception"
    message: Annotated[str, Field(pattern=r"\S")]

    @property
    def last_line(self) -> str:
        """The last line of the message, which is the error itself in a traceback."""
        return self.message.strip().splitlines()[-1]


class _Head(_Part):
    version: int = Field(SCHEMA, alias="schema")
    mixmood: str = ""
    versions: dict[str, str] = {}
    key: str
    run: Run
    data: str = ""

    @property
    def cell(self) -> Cell:
        """The cell of the run."""
        return self.run.cell

    def to_dict(self) -> dict[str, Any]:
        """The record in plain values, as it is written."""
        return self.model_dump(by_alias=True) | {"run": self.run.to_dict()}


class RunRecord(_Head):
    """The results of a finished run. `training` is None in the regime `frozen`."""

    mixmood: str
    versions: dict[str, str]
    data: str
    classes: list[str]
    training: Training | None
    accuracy: RunAccuracy
    test_halves: tuple[Proportion, Proportion] | None = None  # on even and on odd test images
    arms: dict[Arm, RunAccuracy] | None = None  # None without a pool and if not from scratch
    distances: dict[MeasureName, MeasuredDistance] | None
    useful_share: PoolShare | None = None  # None without a pool, or if it cannot be estimated
    probe: PoolProbe | None = None
    times: dict[str, Seconds]

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.training is None and self.accuracy.test is None:
            raise ValueError("a run without epochs has one accuracy, 'test'")
        if "total_s" not in self.times:
            raise ValueError("'times' must have 'total_s'")
        return self

    @field_serializer("accuracy")
    def _plain_accuracy(self, accuracy: RunAccuracy) -> dict[str, float | None]:
        return accuracy.to_dict()

    def in_arm(self, arm: Arm) -> "RunRecord":
        """This run with the accuracies of an arm; unchanged if it has none."""
        return self if self.arms is None else self.model_copy(update={"accuracy": self.arms[arm]})

    @property
    def view(self) -> str | None:
        """The view of a head, such as "96 px, both"; None for networks."""
        head = (self.model_extra or {}).get("head")
        if not isinstance(head, dict) or not {"resolution", "depth"} <= head.keys():
            return None
        return f"{head['resolution']} px, {head['depth']}"

    @property
    def epochs(self) -> list[Epoch]:
        """The epochs of training; none in the regime `frozen`."""
        return [] if self.training is None else self.training.epochs


class FailedRun(_Head):
    """The record of a run that ended with an error."""

    error: RunError
    times: dict[str, Seconds] = {}


AnyRecord = RunRecord | FailedRun


def first_problem(error: ValidationError) -> str:
    """The first problem, in one line."""
    problem = error.errors()[0]
    return f"{'.'.join(str(part) for part in problem['loc'])[:200]}: {problem['msg'][:200]}"
