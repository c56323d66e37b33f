"""A ranking as CSV, safe to open in a spreadsheet."""

from mixmood.core.files.spreadsheet import csv_text
from mixmood.core.records.ranking import Candidate, Ranking

RANKING_COLUMNS = (
    "rank", "name", "measure", "distance", "interval_low", "interval_high", "spread", "signed",
    "p_wilcoxon", "p_permutation", "p_holm", "p_best", "rank_low", "rank_high", "n_images",
    "n_unreadable", "n_read", "n_distinct", "gain", "gain_low", "gain_high", "p_helps",
    "useful_share", "advice",
)  # fmt: skip


def ranking_csv(ranking: Ranking) -> str:
    """One row for each pool and measure; the pools of a measure are together, nearest first."""
    return csv_text(
        RANKING_COLUMNS,
        (
            _row(candidate, measure)
            for measure in ranking.noise_floor
            for candidate in ranking.ordered_by(measure)
        ),
    )


def _row(candidate: Candidate, measure: str) -> tuple[object, ...]:
    """A pool by one measure; rank and chance are those of this measure."""
    result, probe, share = candidate.measures[measure], candidate.probe, candidate.useful_share
    gain = (probe.gain, *probe.interval, probe.p_helps) if probe else (None,) * 4
    return (
        result.rank, candidate.name, measure, result.distance, *result.interval,
        result.spread, result.signed, result.p_wilcoxon, result.p_permutation,
        result.p_holm, result.p_best, *(result.rank_interval or (None, None)), candidate.n_images,
        candidate.n_unreadable, candidate.n_read, candidate.n_distinct, *gain,
        share.share if share else None, candidate.advice,
    )  # fmt: skip
