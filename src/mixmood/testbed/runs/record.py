"""What a record must hold for tables to be drawn from it; checked as it is read.

A record may come from another machine, another version, or a disk that lies: what is missing is
told with the name of the file, before any table is begun.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Number = Annotated[float, Field(allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Measure = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
"""It becomes a part of file names."""
Share = Annotated[float, Field(ge=0, le=1)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True)


class _Run(_Part):
    task: str
    source: str
    percent: Annotated[float, Field(ge=0, le=100)]
    n_labelled: Annotated[int, Field(ge=1, lt=2**53)]
    algorithm: str
    contamination: str
    seed: Annotated[int, Field(ge=0, lt=2**53)]


class _Accuracy(_Part):
    best: Share
    last: Share
    median: Share
    validation: Share | None


class _Distance(_Part):
    distance: Number
    spread: Number
    signed: Number
    p_wilcoxon: Number
    p_permutation: Number


class _Epoch(_Part):
    test_accuracy: Share
    pseudo_label_shares: list[Share] | None


class _Training(_Part):
    epochs: Annotated[list[_Epoch], Field(min_length=1)]


class _Error(_Part):
    message: Annotated[str, Field(pattern=r"\S")]


class _Any(_Part):
    key: str
    run: _Run


class _Finished(_Any):
    data: str
    mixmood: str
    versions: dict[str, str]
    classes: list[str]
    training: _Training
    accuracy: _Accuracy
    distances: dict[Measure, _Distance] | None
    times: dict[str, Seconds]


class _Failed(_Any):
    error: _Error


def first_problem(record: dict[str, Any], failed: bool) -> str | None:
    """Where and why a record of a finished, or failed, run is none; None if all is well."""
    try:
        (_Failed if failed else _Finished).model_validate(record)
    except ValidationError as error:
        return told(error)
    return None


def told(error: ValidationError) -> str:
    """The first thing that is wrong, in one line."""
    problem = error.errors()[0]
    return f"{'.'.join(str(part) for part in problem['loc'])[:200]}: {problem['msg'][:200]}"
