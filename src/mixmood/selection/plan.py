"""Every option of `filter`, `next` and `check`, declared and checked in one place."""

from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path
from typing import Any

from mixmood.core.errors import OptionError
from mixmood.core.options import DEFAULT_SCORE, SCORE_NAMES, option
from mixmood.core.text import check_name, in_percent, listed
from mixmood.features.plan import ExtractionPlan, LoggedPlan, groups_option, labels_option
from mixmood.jobs.local import BACKENDS, LOCAL

FIT_SAMPLE = 1000  # pool images that a filter is fitted with; more take longer, change nothing


@dataclass(frozen=True)
class KeepRule:
    """What to keep: the estimated useful part, or what the one field that is set says."""

    share: float | None = None
    count: int | None = None
    threshold: float | None = None


def parse_keep(keep: str | float) -> KeepRule:
    """The rule behind `--keep auto|SHARE|COUNT`: a share is below 1, a count a whole number.

    >>> parse_keep("auto"), parse_keep("0.3").share, parse_keep(500).count
    (KeepRule(share=None, count=None, threshold=None), 0.3, 500)
    """
    word = str(keep).strip().lower()
    if word == "auto":
        return KeepRule()
    try:
        number = float(word)
    except ValueError:
        number = nan
    if 0 < number < 1:
        return KeepRule(share=number)
    # 1.0 could be one image or all of them: neither is guessed.
    if not (number >= 1 and number.is_integer()) or (number == 1 and "." in word):
        raise OptionError(
            "--keep takes auto, a share between 0 and 1 or a whole number of at least 1; "
            f"got {keep}."
        )
    return KeepRule(count=int(number))


@dataclass(frozen=True, kw_only=True)
class FilterPlan(LoggedPlan):
    """What a filter is asked for; command line and Python share it."""

    keep: str | float = option(
        "auto",
        "auto keeps the estimated useful part, 0.3 the best 30 %, 500 the best 500 images.",
        metavar="auto|SHARE|COUNT",
    )
    threshold: float | None = option(
        None, "Keep images that score at least this; instead of --keep.", metavar="SCORE"
    )
    typical: float | None = option(
        None,
        "Keep images that are as typical as this share of the labelled images, such as 0.95; "
        "instead of --keep.",
        metavar="SHARE",
    )
    score: str = option(DEFAULT_SCORE, f"{listed(SCORE_NAMES, 'or')}.")
    balance: bool = option(False, "Keep as many images of each class.", flag="--balance")
    diverse: float = option(
        0.0, "Above 0, up to 1: keep the half of the images that differ most.", metavar="WEIGHT"
    )
    probe: bool = option(
        True,
        "Measure what the whole pool and the kept part would gain; needs classes.",
        flag="--probe/--no-probe",
    )
    groups: str | None = groups_option()
    labels: tuple[str, ...] = labels_option()
    link: str | Path | None = option(
        None, "Make a folder of hard links to the kept images.", metavar="DIR"
    )
    copy: str | Path | None = option(
        None, "Make a folder of copies of the kept images.", metavar="DIR"
    )
    save: str | Path | None = option(
        None, "Save the fitted filter, for other pools.", metavar="FILE.npz"
    )
    load: str | Path | None = option(
        None, "Use a filter that --save wrote; LABELLED is then -.", metavar="FILE.npz"
    )
    backend: str = option(LOCAL, "local, or ray for a cluster.")
    resume: bool = option(False, "Continue a scan that was interrupted.", flag="--resume")

    def __post_init__(self) -> None:
        """Refuse options that make no sense, before any image is read."""
        from mixmood.scores.registry import score_family

        object.__setattr__(self, "keep", str(self.keep))  # Python users may give a number
        super().__post_init__()
        score_family(self.score)
        given = {"keep": self.keep if self.keep != "auto" else None}
        given |= {name: getattr(self, name) for name in ("threshold", "typical")}
        words = [f"{name} {value}" for name, value in given.items() if value is not None]
        if len(words) > 1:
            raise OptionError(
                f"Give one of keep, threshold and typical; got {' and '.join(words)}."
            )
        if self.threshold is not None and not isfinite(self.threshold):
            raise OptionError(f"A threshold must be a finite number; got {self.threshold}.")
        if self.typical is not None and not 0 < self.typical <= 1:
            raise OptionError(f"typical must be above 0 and at most 1; got {self.typical:g}.")
        if not 0 <= self.diverse <= 1:
            raise OptionError(f"diverse must be between 0 and 1; got {self.diverse:g}.")
        check_name("backend", self.backend, BACKENDS)
        _ = self.rule

    @property
    def rule(self) -> KeepRule:
        """What to keep."""
        if self.threshold is not None:
            return KeepRule(threshold=self.threshold)
        return parse_keep(str(self.keep))

    @property
    def keep_in_words(self) -> str:
        """What to keep, in words for the record."""
        if self.typical is not None:
            return f"as typical as {in_percent(self.typical)} of the labelled images"
        return str(self.keep) if self.threshold is None else f"threshold {self.threshold:g}"


@dataclass(frozen=True, kw_only=True)
class NextPlan(ExtractionPlan):
    """What a choice of images to label is asked for; command line and Python share it."""

    count: int = option(20, "How many images to propose.")
    groups: str | None = groups_option()
    labels: tuple[str, ...] = labels_option()

    def __post_init__(self) -> None:
        """Refuse a count below one."""
        super().__post_init__()
        if self.count < 1:
            raise OptionError(f"count must be at least 1; got {self.count}.")


@dataclass(frozen=True, kw_only=True)
class CheckPlan(ExtractionPlan):
    """What a check of labels is asked for; command line and Python share it."""

    against: Any = option(
        None,
        "Test images: copies and near copies of them among the labelled ones are found.",
        metavar="TEST",
    )
    groups: str | None = groups_option()
    labels: tuple[str, ...] = labels_option()
