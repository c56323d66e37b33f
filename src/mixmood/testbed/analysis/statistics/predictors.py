"""What `rank` said of a run's pool beside distances: its useful share and the gain it expected."""

from collections.abc import Callable

from mixmood.testbed.runs.record import RunRecord

SHARE, GAIN = "useful share", "probe"


def _share(record: RunRecord) -> float | None:
    return None if record.useful_share is None else record.useful_share.share


def _gain(record: RunRecord) -> float | None:
    return None if record.probe is None else record.probe.gain


PREDICTORS: dict[str, Callable[[RunRecord], float | None]] = {SHARE: _share, GAIN: _gain}
"""By name, the value that a record holds, None where it has none; the larger the better.

The share is between 0 and 1, the gain is in points, by the map of the version that made the run.
"""
