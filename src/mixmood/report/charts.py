"""What all charts share: places on an axis, marks of sets, bars of histograms."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

WIDE_RATIO = 12  # if the farthest pool is more times as far as the nearest: by square roots
STEPS = (1, 2, 2.5, 5, 10)  # times a power of ten: the distances between values along an axis


class Tick(NamedTuple):
    """A value on an axis and its place."""

    value: float
    at: float


@dataclass(frozen=True)
class Axis:
    """An axis from low to high; with `is_root` it starts at 0 and is spaced by square roots."""

    low: float
    high: float
    is_root: bool = False

    @classmethod
    def of_distances(cls, distances: Sequence[float], ends: Sequence[float]) -> "Axis":
        """An axis from 0 that includes every distance and every end of an interval or band."""
        high = max([*distances, *ends], default=0.0) * 1.04 or 1.0
        positive = [value for value in distances if value > 0]
        return cls(0.0, high, bool(positive) and high / min(positive) > WIDE_RATIO)

    @classmethod
    def of_values(cls, values: Sequence[float]) -> "Axis":
        """An axis from the smallest to the largest value, with a small margin."""
        low, high = min(values), max(values)
        room = 0.02 * (high - low) or max(abs(high), 1.0) * 0.02
        return cls(low - room, high + room)

    def at(self, value: float) -> float:
        """The place of a value in percent; a value outside the axis is put at its end.

        >>> Axis(0.0, 10.0).at(2.5), Axis(0.0, 10.0, is_root=True).at(2.5)
        (25.0, 50.0)
        """
        share = min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)
        return round(100 * (math.sqrt(share) if self.is_root else share), 2)

    def down(self, value: float) -> float:
        """The place of a value on an axis that points up, in percent from above."""
        return round(100 - self.at(value), 2)

    def ticks(self, wanted: int = 5) -> list[Tick]:
        """Round values along the axis, about as many as wanted.

        >>> [tick.value for tick in Axis(0.0, 10.0).ticks()]
        [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
        """
        if self.is_root:
            # Squares of equal steps are evenly spaced on this axis; then rounded to one digit.
            values = {_rounded(self.high * (k / wanted) ** 2) for k in range(wanted + 1)}
        else:
            size = (self.high - self.low) / wanted
            power = 10.0 ** math.floor(math.log10(size))
            step = next(step * power for step in STEPS if step * power >= size * (1 - 1e-9))
            first = math.ceil(self.low / step - 1e-9)
            values = {round(k * step, 12) for k in range(first, math.floor(self.high / step) + 1)}
        return [Tick(value, self.at(value)) for value in sorted(values) if value <= self.high]


def _rounded(value: float) -> float:
    """The value rounded down to one digit, so that it stays on the axis."""
    if value <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(value) + 1e-9)
    return round(max(step for step in (1, 2, 3, 5, 7) if step * power <= value * 1.01) * power, 12)


N_COLOURS = 7
N_SHAPES = 5


class Mark(NamedTuple):
    """Names of a colour class (Okabe and Ito's palette, in page.css) and of a shape."""

    colour: str
    shape: str


LABELLED = Mark("k-labelled", "shape-labelled")


def mark(place: int) -> Mark:
    """The mark of the pool in this place, 0 first; 35 pools have marks of their own."""
    return Mark(f"k{place % N_COLOURS}", f"shape{place % N_SHAPES}")


class Bar(NamedTuple):
    """One bar of a histogram: where it begins and how high it is, in percent."""

    at: float
    height: float


def bars(counts: Sequence[int], most: int) -> list[Bar]:
    """The bars of all bins that are not empty; a bin with `most` images is as high as the chart.

    >>> bars([1, 0, 2, 4], 4)
    [Bar(at=0.0, height=25.0), Bar(at=50.0, height=50.0), Bar(at=75.0, height=100.0)]
    """
    return [
        Bar(round(100 * k / len(counts), 2), round(100 * n / most, 1))
        for k, n in enumerate(counts)
        if n
    ]
