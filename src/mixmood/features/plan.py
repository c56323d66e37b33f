"""The options of every command that computes features."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mixmood.core.cores import checked_jobs
from mixmood.core.options import BACKBONE_NAMES, DEFAULT_BACKBONE, check_kinds, option

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


@dataclass(frozen=True, kw_only=True)
class ExtractionPlan:
    """How features are computed and where they are kept; plans of commands extend it."""

    backbone: str = option(DEFAULT_BACKBONE, f"{BACKBONE_WORDS}.")
    resolution: int | None = option(
        None, "Pixels a side that the backbone sees.", shown="96", metavar="PIXELS"
    )
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
        checked_jobs(self.jobs)


@dataclass(frozen=True, kw_only=True)
class LoggedPlan(ExtractionPlan):
    """The same for commands whose result can be logged."""

    mlflow: str | None = mlflow_option()
