"""Gains with their intervals, ready to be drawn as strips on one axis around 0."""

from dataclasses import dataclass

from mixmood.core.records.ranking import Candidate, Probe, Ranking
from mixmood.report.charts.axis import Axis, Tick
from mixmood.report.charts.marks import Mark, mark


@dataclass(frozen=True)
class GainRow:
    """One pool; places in percent."""

    candidate: Candidate
    probe: Probe
    mark: Mark
    low: float
    at: float
    high: float


@dataclass(frozen=True)
class Gains:
    """All pools that were probed, the highest gain first."""

    rows: list[GainRow]
    zero: float
    ticks: list[Tick]


def gains(ranking: Ranking) -> Gains | None:
    """The chart, or None if no pool was probed."""
    known = [
        (candidate, candidate.probe, mark(k))
        for k, candidate in enumerate(ranking.candidates)
        if candidate.probe is not None
    ]
    if not known:
        return None
    known.sort(key=lambda one: -one[1].gain)
    axis = Axis.of_values([0.0, *(end for _, probe, _ in known for end in probe.interval)])
    rows = [
        GainRow(
            candidate,
            probe,
            key,
            axis.at(probe.interval[0]),
            axis.at(probe.gain),
            axis.at(probe.interval[1]),
        )
        for candidate, probe, key in known
    ]
    return Gains(rows, axis.at(0.0), axis.ticks())
