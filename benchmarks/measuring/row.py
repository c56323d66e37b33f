"""One line of the table of results, and how a ratio is measured."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


class SkippedError(Exception):
    """A case that cannot be run here; the text says why."""


@dataclass(frozen=True)
class Effort:
    """How much is measured: everything, or a tiny part that only shows that it runs."""

    is_tiny: bool = False

    def rounds(self, wanted: int) -> int:
        """The number of rounds of interleaved measurements; two in a tiny run."""
        return 2 if self.is_tiny else wanted

    def images(self, wanted: int, least: int = 1) -> int:
        """The number of images; a twentieth in a tiny run, but not fewer than `least`."""
        return max(wanted // 20, least) if self.is_tiny else wanted


@dataclass(frozen=True)
class Row:
    """One comparison: a ratio, its spread over the rounds, and the goal."""

    what: str
    against: str
    ratio: float
    lowest: float
    highest: float
    values: str
    """The two values behind the ratio, with their units."""
    at_least: float | None = None
    at_most: float | None = None
    note: str = ""
    unit: str = ""

    @property
    def goal(self) -> str:
        """The goal as text."""
        if self.at_least is not None:
            return f">= {self.at_least:g}{self.unit}"
        return f"<= {self.at_most:g}{self.unit}" if self.at_most is not None else "none"

    @property
    def is_met(self) -> bool | None:
        """Whether the goal is reached; None where there is none."""
        if self.at_least is not None:
            return self.ratio >= self.at_least
        return self.ratio <= self.at_most if self.at_most is not None else None


def seconds(work: Callable[[], object]) -> float:
    """The wall-clock time of some work."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def interleaved(
    works: Mapping[str, Callable[[], object]], n_rounds: int, measure: Callable = seconds
) -> dict[str, list[float]]:
    """The value of `measure` for each work, round by round: A B C, A B C, ...

    So a temporary load on the machine slows all of them.
    """
    found: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(n_rounds):
        for name, work in works.items():
            found[name].append(measure(work))
    return found


def ratios(above: list[float], below: list[float]) -> tuple[float, float, float]:
    """Median, smallest and largest ratio of two lists, round by round."""
    found = [a / b for a, b in zip(above, below, strict=True)]
    return statistics.median(found), min(found), max(found)
