"""Which labelled classes the images of each pool look like, ready to be drawn."""

from dataclasses import dataclass

from mixmood.core.records.ranking import Ranking
from mixmood.report.charts.marks import LABELLED, Mark, mark

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
