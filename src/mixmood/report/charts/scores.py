"""Scores of labelled and pool images as two histograms, above and below a common axis."""

from collections.abc import Sequence
from dataclasses import dataclass

from mixmood.core.records.filter_material import ScoreHistogram
from mixmood.report.charts.axis import Axis, Tick
from mixmood.report.charts.histograms import Bar


@dataclass(frozen=True)
class ScoreChart:
    """Bars in percent: labelled images above the line, the pool and its kept part below."""

    bar_width: float
    labelled: list[Bar]
    pool: list[Bar]
    kept: list[Bar]
    threshold_at: float | None
    ticks: list[Tick]


def score_chart(histogram: ScoreHistogram, threshold: float | None) -> ScoreChart:
    """The chart; each half is as high as its fullest bin, since a pool has many more images."""
    axis = Axis(histogram.low, histogram.high)
    return ScoreChart(
        bar_width=round(100 / len(histogram.pool), 2),
        labelled=_bars(histogram.labelled, max(histogram.labelled)),
        pool=_bars(histogram.pool, max(histogram.pool)),
        kept=_bars(histogram.kept, max(histogram.pool)),
        threshold_at=None if threshold is None else axis.at(threshold),
        ticks=axis.ticks(),
    )


def _bars(counts: Sequence[int], most: int) -> list[Bar]:
    return [
        Bar(round(100 * k / len(counts), 2), round(100 * n / most, 1))
        for k, n in enumerate(counts)
        if n
    ]
