"""A bar of characters: the interval of a distance in the terminal."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mixmood.core.records.ranking import Dissimilarity

WIDE_RATIO = 20
"""If the largest distance is more times the smallest, the scale is logarithmic."""


class Marks(NamedTuple):
    """The characters that a bar is made of."""

    left: str
    line: str
    dot: str
    right: str
    floor: str


UNICODE = Marks("├", "─", "●", "┤", "┊")
ASCII = Marks("|", "-", "o", "|", ":")


@dataclass(frozen=True)
class Scale:
    """Maps a distance to a column, 0 to width - 1."""

    low: float
    high: float
    width: int
    is_log: bool

    @classmethod
    def over(cls, results: Sequence[Dissimilarity], floor: float, width: int) -> "Scale":
        """A scale that includes every interval."""
        high = max(result.interval[1] for result in results) or 1.0
        nearest = min((d for d in [*(r.distance for r in results), floor] if d > 0), default=high)
        is_log = high / nearest > WIDE_RATIO
        return cls(nearest / 3 if is_log else 0.0, high, width, is_log)

    def column(self, value: float) -> int:
        """The column of a value; a value outside the scale is put at its end."""
        if self.is_log:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = value / self.high
        return round(min(max(share, 0.0), 1.0) * (self.width - 1))

    def bar(self, result: Dissimilarity, floor: float, marks: Marks = UNICODE) -> str:
        """The interval as a bar with the distance on it, and the noise floor as a line."""
        cells = [" "] * self.width
        cells[self.column(floor)] = marks.floor
        low, high = (self.column(end) for end in result.interval)
        cells[low : high + 1] = [marks.line] * (high + 1 - low)
        cells[low], cells[high] = marks.left, marks.right
        cells[self.column(result.distance)] = marks.dot
        return "".join(cells)
