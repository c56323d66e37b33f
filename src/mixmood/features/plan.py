"""The options of every command that computes features."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from mixmood.core.errors import OptionError
from mixmood.core.options import BACKBONE_NAMES, DEFAULT_BACKBONE, check_kinds, option
from mixmood.core.text import unknown_name
from mixmood.jobs.local import checked_jobs

AUTO = "auto"
DEPTH_NAMES = ("last", "middle", "both")
"""Those of `mixmood.features.backbones.view`, without importing NumPy; a test compares them."""

BACKBONE_WORDS = (
    f"{', '.join(BACKBONE_NAMES)}, FILE.onnx, hf:NAME or hf:DIR; auto:NAME,NAME,... is the one "
    "whose classifier does best on the labelled images"
)
"""How a backbone is named, for help texts."""


def jobs_option() -> Any:
    """The field `jobs` of a plan: the number of threads."""
    return option(None, "Threads.", shown="all cores")


def cache_option() -> Any:
    """The field `cache` of a plan: where features are kept."""
    return option(
        "default",
        "Where features are kept between runs.",
        metavar="DIR|none",
        shown="the user's cache directory",
        takes_none=True,
    )


def mlflow_option() -> Any:
    """The field `mlflow` of a plan: the MLflow server or file that the result is logged to."""
    return option(None, "Log the result to MLflow as well.", metavar="URI")


def device_option() -> Any:
    """The field `device` of a plan."""
    return option(
        "auto",
        "Where the backbone computes: auto, cpu, cuda, directml or coreml; for hf: models auto, "
        "cpu, cuda or mps.",
    )


def resolution_option(only: str | None = None) -> Any:
    """The field `resolution` of a plan."""
    return option(
        AUTO,
        "Pixels a side that the backbone sees, such as 96, 160 or 224; auto: the labelled images "
        "decide.",
        metavar="auto|PIXELS",
        only=only,
    )


def depth_option(only: str | None = None) -> Any:
    """The field `depth` of a plan."""
    return option(
        AUTO,
        "Which layers of the backbone are used: last, middle or both; auto: the labelled images "
        "decide.",
        metavar="WORD",
        only=only,
    )


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


class ViewPlan(Protocol):
    """The options of a plan that decide how a backbone looks at images."""

    @property
    def backbone(self) -> str:
        """Its name."""

    @property
    def resolution(self) -> int | str:
        """Pixels a side."""

    @property
    def depth(self) -> str:
        """Its layers."""

    @property
    def device(self) -> str:
        """Where it computes."""


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
    resolution: int | str = resolution_option()
    depth: str = depth_option()
    device: str = device_option()
    frames: str = option(
        "middle",
        "Frames that are read of a DICOM file: middle for the middle one, or each for all of them.",
    )
    seed: int = option(0, "Decides every random choice.")
    jobs: int | None = jobs_option()
    cache: str | Path | None = cache_option()

    def __post_init__(self) -> None:
        """Refuse values of another kind, and a number of threads below one."""
        check_kinds(self)
        object.__setattr__(self, "resolution", checked_view(self.resolution, self.depth))
        checked_jobs(self.jobs)


@dataclass(frozen=True, kw_only=True)
class LoggedPlan(ExtractionPlan):
    """The options of commands on features whose result can be logged to MLflow."""

    mlflow: str | None = mlflow_option()
