"""Predictors of accuracy other than distances: useful share and expected gain of a pool."""

from collections.abc import Callable

from mixmood.testbed.runs.record import RunRecord

SHARE, GAIN = "useful share", "probe"


def _share(record: RunRecord) -> float | None:
    return None if record.useful_share is None else record.useful_share.share


def _gain(record: RunRecord) -> float | None:
    return None if record.probe is None else record.probe.gain


PREDICTORS: dict[str, Callable[[RunRecord], float | None]] = {SHARE: _share, GAIN: _gain}
"""For each name, a function that gives the value of a record, or None if it has none.

Larger is better. The share is between 0 and 1. The gain is in points, as computed by the version of
mixmood that made the run.
"""
