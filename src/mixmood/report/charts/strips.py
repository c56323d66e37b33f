"""Distances with their intervals, ready to be drawn as strips on a common axis."""

from dataclasses import dataclass

from mixmood.core.records.ranking import Candidate, NoiseFloor, RankedDissimilarity, Ranking
from mixmood.report.charts.axis import Axis
from mixmood.report.charts.marks import Mark, mark


@dataclass(frozen=True)
class Strip:
    """One distance on its axis; places in percent."""

    result: RankedDissimilarity
    floor: NoiseFloor
    axis: Axis
    place: int
    """The pool's rank by this measure; 1 is the nearest."""
    moved: int
    """Its rank by this measure minus its rank by the main measure: negative is nearer."""

    @property
    def low(self) -> float:
        """Where the interval begins."""
        return self.axis.at(self.result.interval[0])

    @property
    def high(self) -> float:
        """Where the interval ends."""
        return self.axis.at(self.result.interval[1])

    @property
    def at(self) -> float:
        """The place of the distance."""
        return self.axis.at(self.result.distance)

    @property
    def floor_at(self) -> float:
        """Where the band of the noise floor ends."""
        return self.axis.at(self.floor.upper)


@dataclass(frozen=True)
class PoolStrips:
    """One pool: its mark, and its strip by every measure."""

    candidate: Candidate
    mark: Mark
    strips: dict[str, Strip]


def rows(ranking: Ranking) -> list[PoolStrips]:
    """The pools in order of rank, with a strip for each measure; each measure has its own axis."""
    strips = {measure: _strips(ranking, measure) for measure in ranking.noise_floor}
    return [
        PoolStrips(candidate, mark(k), {measure: strips[measure][k] for measure in strips})
        for k, candidate in enumerate(ranking.candidates)
    ]


def _strips(ranking: Ranking, measure: str) -> list[Strip]:
    results = [candidate.measures[measure] for candidate in ranking.candidates]
    floor = ranking.noise_floor[measure]
    ends = [*(result.interval[1] for result in results), floor.upper]
    axis = Axis.of_distances([result.distance for result in results], ends)
    return [
        Strip(result, floor, axis, result.rank, result.rank - own.measures[ranking.measure].rank)
        for result, own in zip(results, ranking.candidates, strict=True)
    ]


def nearest_by(ranking: Ranking) -> dict[str, list[str]]:
    """For each pool that is nearest by some measure, the names of these measures."""
    found: dict[str, list[str]] = {}
    for measure in ranking.noise_floor:
        best = ranking.ordered_by(measure)[0]
        found.setdefault(best.name, []).append(measure)
    return found
