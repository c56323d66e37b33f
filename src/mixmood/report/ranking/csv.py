"""Records as CSV, safe to open in a spreadsheet."""

from mixmood.core.files.spreadsheet import csv_text
from mixmood.core.records.ranking import Ranking

RANKING_COLUMNS = (
    "rank", "name", "measure", "distance", "interval_low", "interval_high", "spread", "signed",
    "p_wilcoxon", "p_permutation", "p_holm", "p_best", "rank_low", "rank_high", "n_images",
    "n_unreadable",
)  # fmt: skip


def ranking_csv(ranking: Ranking) -> str:
    """One row for each pool and measure, nearest pool first."""
    return csv_text(
        RANKING_COLUMNS,
        (
            (
                candidate.rank, candidate.name, measure, result.distance, *result.interval,
                result.spread, result.signed, result.p_wilcoxon, result.p_permutation,
                result.p_holm, candidate.p_best, *candidate.rank_interval, candidate.n_images,
                candidate.n_unreadable,
            )
            for candidate in ranking.candidates
            for measure, result in candidate.measures.items()
        ),
    )  # fmt: skip
