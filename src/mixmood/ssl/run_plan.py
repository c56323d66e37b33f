"""All options of `train`: those of training, the test images, and where results are written."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from mixmood.core.errors import OptionError
from mixmood.core.plan_options import option
from mixmood.features.extraction.plan import cache_option, mlflow_option
from mixmood.ssl.plan import TrainingPlan


@dataclass(frozen=True, kw_only=True)
class TrainingRunPlan(TrainingPlan):
    """A training, its test images and its files; `mixmood train` and `mixmood.train` share it."""

    out: str | Path | None = option(
        None, "Folder for the model, its record and its page.", is_required=True
    )
    test: Any = option(None, "Images with classes to test on.")
    cache: str | Path | None = cache_option()
    resume: bool = option(
        False,
        "Go on from the checkpoint in --out (networks), or train again (head).",
        flag="--resume/--no-resume",
    )
    mlflow: str | None = mlflow_option()

    def __post_init__(self) -> None:
        """Refuse an empty path, which would be the current folder."""
        super().__post_init__()
        if self.out == "":
            raise OptionError("out is an empty path. Is a variable of the shell not set?")

    @property
    def folder(self) -> Path | None:
        """The folder for results, if there is one."""
        return None if self.out is None else Path(self.out)

    @classmethod
    def of(cls, plan: TrainingPlan) -> "TrainingRunPlan":
        """The plan of the same training without test images and without output files."""
        return cls(**{one.name: getattr(plan, one.name) for one in fields(plan)})
