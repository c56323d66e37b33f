"""Which labelled classes the images of each pool look like, ready to be drawn."""

from dataclasses import dataclass

from mixmood.core.records.ranking import Ranking
from mixmood.report.charts.marks import LABELLED, Mark, mark

MISSED = 0.2
"""A class is missed by a pool that gives it under this part of its share of the labelled set."""


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
    """A table of classes and sets. The longer list makes the rows, so that columns stay few."""

    heads: list[tuple[str, Mark | None]]
    rows: list[tuple[str, Mark | None, list[CoverageCell]]]
    has_sets_as_rows: bool
    missed: list[tuple[str, list[str]]]
    """The pools that miss classes, with the classes they miss."""


def coverage(ranking: Ranking) -> Coverage | None:
    """The table, or None where the record holds no classes."""
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
    keys: list[tuple[str, Mark | None]] = [(name, key) for name, key, _ in sets]
    words: list[tuple[str, Mark | None]] = [(word, None) for word in own]
    is_turned = len(sets) > len(own)
    if not is_turned:
        keys, words = words, keys
        cells = [list(column) for column in zip(*cells, strict=True)]
    return Coverage(
        heads=words,
        rows=[(*key, row) for key, row in zip(keys, cells, strict=True)],
        has_sets_as_rows=is_turned,
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
