"""What `mixmood filter` is asked for, checked once."""

from dataclasses import dataclass

from mixmood.core.errors import OptionError
from mixmood.scores.registry import DEFAULT_SCORE, score_family
from mixmood.selection.keep import KeepRule, parse_keep

BACKENDS = ("local", "ray")
FIT_SAMPLE = 1000
"""Random pool images that the filter is fitted with: more change nothing but the time."""


@dataclass(frozen=True)
class FilterPlan:
    """The options that decide what is kept.

    Attributes:
        keep: `auto`, a share below 1 or a whole number of images.
        threshold: The least score of a kept image; takes the place of `keep`.
        score: A name in `mixmood.scores.SCORES`.
        balance: Keep as many images of each class.
        diverse: Prefer kept images that differ from each other; 0 to 1, 0 for not at all.
        seed: Decides every random choice.
        backend: `local`, or `ray` for Ray Data.
    """

    keep: str | float = "auto"
    threshold: float | None = None
    score: str = DEFAULT_SCORE
    balance: bool = False
    diverse: float = 0.0
    seed: int = 0
    backend: str = "local"

    def __post_init__(self) -> None:
        """Refuse options that make no sense, before any image is read."""
        score_family(self.score)
        if self.threshold is not None and self.keep != "auto":
            raise OptionError(
                f"Give --keep or --threshold, not both; got {self.keep} and {self.threshold:g}."
            )
        if not 0 <= self.diverse <= 1:
            raise OptionError(f"diverse must be between 0 and 1; got {self.diverse:g}.")
        if self.backend not in BACKENDS:
            raise OptionError(f"backend must be local or ray; got '{self.backend}'.")
        _ = self.rule

    @property
    def rule(self) -> KeepRule:
        """What to keep."""
        if self.threshold is not None:
            return KeepRule(threshold=self.threshold)
        return parse_keep(self.keep)
