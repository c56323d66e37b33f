"""The options of every command that computes features."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from mixmood.core.errors import OptionError
from mixmood.core.options import BACKBONE_NAMES, DEFAULT_BACKBONE, check_kinds, option, option_texts
from mixmood.core.text import unknown_name
from mixmood.jobs.local import checked_jobs

AUTO = "auto"
DEPTH_NAMES = ("last", "middle", "both")  # as in `view`, without NumPy; a test compares them
BACKBONE_WORDS = (
    f"{', '.join(BACKBONE_NAMES)}, FILE.onnx, hf:NAME or hf:DIR; auto:NAME,NAME,... is the one "
    "whose classifier does best on the labelled images"
)


def same_option(plan: type, name: str, **how: Any) -> Any:
    """The option of another plan; `how` replaces its default or attributes of its text."""
    one = next(one for one in fields(plan) if one.name == name)
    return option(how.pop("default", one.default), **vars(option_texts(plan)[name]) | how)


def groups_option() -> Any:
    """The field `groups` of a plan."""
    return option(
        None,
        "Labelled images of one group are held out together. A column of the table, or a pattern "
        "for the path, such as 'patient(\\d+)'.",
        metavar="COLUMN|PATTERN",
    )


def labels_option(**how: Any) -> Any:
    """The field `labels` of a plan."""
    return option(
        (),
        "Labels that the page to label on has saved: corrections of labelled images, and labels "
        "for images of the pools. May be given several times; the last one counts.",
        metavar="FILE.csv",
        **how,
    )


def checked_view(resolution: Any, depth: Any) -> int | str:
    """The resolution as a number, if it is one; OptionError for what no backbone offers."""
    if isinstance(resolution, str) and resolution.isascii() and resolution.isdigit():
        resolution = int(resolution)
    if resolution != AUTO and not isinstance(resolution, int):
        raise OptionError(
            f"The resolution must be a number of pixels, or auto; got '{resolution}'."
        )
    if depth not in (AUTO, *DEPTH_NAMES):
        raise unknown_name("depth", str(depth), (AUTO, *DEPTH_NAMES))
    return resolution  # type: ignore[no-any-return]


@dataclass(frozen=True, kw_only=True)
class ExtractionPlan:
    """How features are computed and where they are kept; plans of commands extend it."""

    backbone: str = option(DEFAULT_BACKBONE, f"{BACKBONE_WORDS}.")
    resolution: int | str = option(
        AUTO,
        "Pixels a side that the backbone sees, such as 96, 160 or 224; auto: the labelled images "
        "decide.",
        metavar="auto|PIXELS",
    )
    depth: str = option(
        AUTO,
        "Which layers of the backbone are used: last, middle or both; auto: the labelled images "
        "decide.",
        metavar="WORD",
    )
    device: str = option(
        "auto",
        "Where the backbone computes: auto, cpu, cuda, directml or coreml; for hf: models auto, "
        "cpu, cuda or mps.",
    )
    frames: str = option(
        "middle",
        "Frames that are read of a DICOM file: middle for the middle one, or each for all of them.",
    )
    seed: int = option(0, "Decides every random choice.")
    jobs: int | None = option(None, "Threads.", shown="all cores")
    cache: str | Path | None = option(
        "default",
        "Where features are kept between runs.",
        metavar="DIR|none",
        shown="the user's cache directory",
        takes_none=True,
    )

    def __post_init__(self) -> None:
        """Refuse values of another kind, and a number of threads below one."""
        check_kinds(self)
        object.__setattr__(self, "resolution", checked_view(self.resolution, self.depth))
        checked_jobs(self.jobs)


@dataclass(frozen=True, kw_only=True)
class LoggedPlan(ExtractionPlan):
    """The options of commands on features whose result can be logged to MLflow."""

    mlflow: str | None = option(None, "Log the result to MLflow as well.", metavar="URI")
