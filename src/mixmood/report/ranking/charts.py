"""What the pictures on the page of a ranking show: strips, gains, histograms, map and classes."""

from collections.abc import Sequence
from dataclasses import dataclass

from mixmood.core.records.ranking import (
    Candidate,
    Dissimilarity,
    NoiseFloor,
    PageMaterial,
    Probe,
    RankedDissimilarity,
    Ranking,
    Tile,
)
from mixmood.report.charts import LABELLED, Axis, Bar, Mark, Tick, bars, mark


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


N_BINS = 48


BAR_WIDTH = round(100 / N_BINS, 2)


@dataclass(frozen=True)
class Pair:
    """The two histograms of one pool."""

    candidate: Candidate
    result: Dissimilarity
    mark: Mark
    inter: list[Bar]
    intra: list[Bar]
    inter_mean: float
    intra_mean: float
    inter_at: float
    intra_at: float


@dataclass(frozen=True)
class Histograms:
    """The histograms of all pools by one measure, on one axis."""

    measure: str
    ticks: list[Tick]
    pairs: list[Pair]


def histograms(ranking: Ranking, measure: str) -> Histograms:
    """The histograms of all pools; they share one axis and one height, so that they compare."""
    results = [candidate.measures[measure] for candidate in ranking.candidates]
    axis = Axis.of_values([value for r in results for value in (*r.inter, *r.intra)])
    lists = [values for r in results for values in (r.inter, r.intra)]
    most = max(max(_counts(values, axis)) for values in lists)
    pairs = [
        _pair(candidate, measure, mark(k), axis, most)
        for k, candidate in enumerate(ranking.candidates)
    ]
    return Histograms(measure, axis.ticks(), pairs)


def _pair(candidate: Candidate, measure: str, own: Mark, axis: Axis, most: int) -> Pair:
    result = candidate.measures[measure]
    inter_mean, intra_mean = _mean(result.inter), _mean(result.intra)
    return Pair(
        candidate=candidate,
        result=result,
        mark=own,
        inter=bars(_counts(result.inter, axis), most),
        intra=bars(_counts(result.intra, axis), most),
        inter_mean=inter_mean,
        intra_mean=intra_mean,
        inter_at=axis.at(inter_mean),
        intra_at=axis.at(intra_mean),
    )


def _counts(values: Sequence[float], axis: Axis) -> list[int]:
    counts = [0] * N_BINS
    for value in values:
        counts[min(int(axis.at(value) / 100 * N_BINS), N_BINS - 1)] += 1
    return counts


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


ASPECT = 1.6
"""Width divided by height, as in page.css: both axes have the same scale."""
MARGIN = 4.0


@dataclass(frozen=True)
class MapPoint:
    """One image on the map."""

    x: float
    y: float
    tile: Tile


@dataclass(frozen=True)
class Cloud:
    """The points of one set."""

    name: str
    mark: Mark
    points: list[MapPoint]


def clouds(ranking: Ranking, material: PageMaterial) -> list[Cloud]:
    """The pools in reverse order and the labelled set last, so that the best are drawn on top."""
    sets = [(ranking.labelled.name, LABELLED, material.labelled)]
    sets += [(c.name, mark(k), material.pools[c.name]) for k, c in enumerate(ranking.candidates)]
    place = _ToPercent([point for _, _, view in sets for point in view.points])
    return [
        Cloud(name, own, [_point(place(*p), t) for p, t in zip(v.points, v.tiles, strict=True)])
        for name, own, v in reversed(sets)
    ]


def _point(at: tuple[float, float], tile: Tile) -> MapPoint:
    return MapPoint(at[0], at[1], tile)


class _ToPercent:
    """Maps coordinates of the features' plane to percent of the picture."""

    def __init__(self, points: Sequence[tuple[float, float]]) -> None:
        xs, ys = zip(*points, strict=True)
        self._middle = ((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2)
        height = max((max(xs) - min(xs)) / ASPECT, max(ys) - min(ys)) or 1.0
        self._unit = (100 - 2 * MARGIN) / height

    def __call__(self, x: float, y: float) -> tuple[float, float]:
        across = 50 + (x - self._middle[0]) * self._unit / ASPECT
        down = 50 - (y - self._middle[1]) * self._unit
        return round(across, 2), round(down, 2)


MISSED = 0.2
"""A pool misses a class whose share in it is below this part of the share in the labelled set."""


@dataclass(frozen=True)
class CoverageCell:
    """One class in one set: its share, and places on its bar in percent."""

    share: float
    bar: float
    expected_at: float | None
    """The place of the class's share of the labelled set; None for that set itself."""
    is_missed: bool
    mark: Mark


@dataclass(frozen=True)
class Coverage:
    """A table of classes and sets; the longer of the two is in the rows, the shorter in columns."""

    heads: list[tuple[str, Mark | None]]
    rows: list[tuple[str, Mark | None, list[CoverageCell]]]
    has_sets_as_rows: bool
    missed: list[tuple[str, list[str]]]
    """The pools that miss classes, with the classes they miss."""


def coverage(ranking: Ranking) -> Coverage | None:
    """The table, or None if the record has no classes."""
    counts = ranking.labelled.classes
    if not counts or len(counts) < 2 or any(c.classes is None for c in ranking.candidates):
        return None
    own = {name: count / sum(counts.values()) for name, count in counts.items()}
    sets = [(ranking.labelled.name, LABELLED, own)]
    sets += [(c.name, mark(k), c.classes or {}) for k, c in enumerate(ranking.candidates)]
    longest = max(max(shares.values()) for _, _, shares in sets)
    cells = [[_cell(shares, own, word, longest, key) for word in own] for _, key, shares in sets]
    missed = [
        (name, [word for word, cell in zip(own, row, strict=True) if cell.is_missed])
        for (name, _, _), row in zip(sets, cells, strict=True)
    ]
    row_heads: list[tuple[str, Mark | None]] = [(name, key) for name, key, _ in sets]
    column_heads: list[tuple[str, Mark | None]] = [(word, None) for word in own]
    has_sets_as_rows = len(sets) > len(own)
    if not has_sets_as_rows:
        row_heads, column_heads = column_heads, row_heads
        cells = [list(column) for column in zip(*cells, strict=True)]
    return Coverage(
        heads=column_heads,
        rows=[(*head, row) for head, row in zip(row_heads, cells, strict=True)],
        has_sets_as_rows=has_sets_as_rows,
        missed=[(name, lost) for name, lost in missed if lost],
    )


def _cell(
    shares: dict[str, float], own: dict[str, float], word: str, longest: float, key: Mark
) -> CoverageCell:
    share, expected = shares.get(word, 0.0), own[word]
    return CoverageCell(
        share=share,
        bar=round(100 * share / longest, 1),
        expected_at=None if key == LABELLED else round(100 * expected / longest, 1),
        is_missed=share < MISSED * expected,
        mark=key,
    )
