"""Records as CSV, safe to open in a spreadsheet."""

import csv
import io
from collections.abc import Iterable, Sequence

from mixmood.core.records import Ranking

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


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as CSV; a text that a spreadsheet would run as a formula gets a leading quote."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_inert(value) for value in row] for row in rows)
    return buffer.getvalue()


def _inert(value: object) -> object:
    is_formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if is_formula else value
