"""The useful share of a pool, as the records of `rank` and `filter` hold it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ShareRecord:
    """The part of a pool that looks like the labelled classes.

    Attributes:
        share: The estimate, 0 to 1.
        interval: Its 95 % interval.
        is_trustworthy: Whether foreign images similar to the labelled classes would be noticed.
        note: Why it is not trustworthy; empty if it is.
    """

    share: float
    interval: tuple[float, float]
    is_trustworthy: bool = True
    note: str = ""
