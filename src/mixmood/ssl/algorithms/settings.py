"""Settings of an algorithm, refused outside their ranges."""

from collections.abc import Mapping
from math import inf
from typing import ClassVar

from mixmood.core.errors import OptionError
from mixmood.ssl.algorithms.class_weights import Balanced, set_balanced

Ranges = Mapping[str, tuple[float, float]]
"""The least and the largest value of each setting."""


class CheckedSettings:
    """What the algorithms that learn from a pool have in common; their settings are their fields.

    Attributes:
        name: The name in the registry.
        ranges: The settings that are numbers, with their ranges; None is a setting left out.
        balanced: Which losses the class weights multiply.
        ood_mask: The confidence below which an image of the pool is left out; None for no mask. An
            algorithm may do without this setting.
    """

    name: ClassVar[str]
    needs_pool: ClassVar[bool] = True
    ranges: ClassVar[Ranges]
    balanced: Balanced
    ood_mask: float | None

    def __post_init__(self) -> None:
        """Refuse settings outside their ranges."""
        set_balanced(self, self.balanced)
        for setting, (low, high) in {**self.ranges, "ood_mask": (0, 1)}.items():
            value = getattr(self, setting, None)
            if value is not None and not low <= value <= high:
                limits = f"at least {low:g}" if high == inf else f"between {low:g} and {high:g}"
                raise OptionError(f"{setting} of {self.name} must be {limits}; got {value:g}.")
