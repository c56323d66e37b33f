"""Checks of the settings of an algorithm: their types and their ranges."""

from collections.abc import Mapping
from math import inf
from typing import ClassVar

from mixmood.core.errors import OptionError
from mixmood.core.plan_options import check_kinds
from mixmood.ssl.algorithms.class_weights import Balanced, set_balanced

Ranges = Mapping[str, tuple[float, float]]
"""The least and the largest value of each setting."""


class CheckedSettings:
    """Base class of the algorithms that learn from a pool; their settings are their fields.

    Attributes:
        name: The name in the registry.
        ranges: The ranges of the settings that are numbers.
        balanced: Which losses have class weights.
        ood_mask: The confidence below which an image of the pool is left out; None for no mask. An
            algorithm need not have this setting.
    """

    name: ClassVar[str]
    needs_pool: ClassVar[bool] = True
    ranges: ClassVar[Ranges]
    balanced: Balanced
    ood_mask: float | None

    def __post_init__(self) -> None:
        """Refuse settings of another type or outside their ranges."""
        check_kinds(self)
        set_balanced(self, self.balanced)
        for setting, (low, high) in {**self.ranges, "ood_mask": (0, 1)}.items():
            value = getattr(self, setting, None)
            if value is not None and not low <= value <= high:
                limits = f"at least {low:g}" if high == inf else f"between {low:g} and {high:g}"
                raise OptionError(f"{setting} of {self.name} must be {limits}; got {value:g}.")
