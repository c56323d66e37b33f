"""Inter and intra distances of each pool as two histograms, above and below a common axis."""

from collections.abc import Sequence
from dataclasses import dataclass

from mixmood.core.records.ranking import Candidate, Dissimilarity, Ranking
from mixmood.report.charts.axis import Axis, Tick
from mixmood.report.charts.marks import Mark, mark

N_BINS = 48


@dataclass(frozen=True)
class Bar:
    """One bar: where it begins and how high it is, in percent; bars are BAR_WIDTH wide."""

    at: float
    height: float


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
        inter=_bars(result.inter, axis, most),
        intra=_bars(result.intra, axis, most),
        inter_mean=inter_mean,
        intra_mean=intra_mean,
        inter_at=axis.at(inter_mean),
        intra_at=axis.at(intra_mean),
    )


def _bars(values: Sequence[float], axis: Axis, most: int) -> list[Bar]:
    return [
        Bar(round(100 * k / N_BINS, 2), round(100 * n / most, 1))
        for k, n in enumerate(_counts(values, axis))
        if n
    ]


def _counts(values: Sequence[float], axis: Axis) -> list[int]:
    counts = [0] * N_BINS
    for value in values:
        counts[min(int(axis.at(value) / 100 * N_BINS), N_BINS - 1)] += 1
    return counts


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
