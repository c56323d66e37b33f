"""How much of each pool lies nearest to each labelled class, ready to be drawn."""

from dataclasses import dataclass

from mixmood.core.records.page_material import PageMaterial
from mixmood.core.records.ranking import Ranking
from mixmood.report.charts.marks import LABELLED, Mark, mark

MISSED = 0.2
"""A class is missed by a pool that gives it under this part of its share of the labelled set."""


@dataclass(frozen=True)
class Cell:
    """One class in one set: its share, the length of its bar in percent, and the verdict."""

    share: float
    bar: float
    expected_at: float
    is_missed: bool


@dataclass(frozen=True)
class Coverage:
    """A table of classes by sets; the labelled set comes first."""

    columns: list[tuple[str, Mark]]
    classes: list[tuple[str, list[Cell]]]
    missed: list[tuple[str, list[str]]]
    """The pools that miss classes, with the classes they miss."""


def coverage(ranking: Ranking, material: PageMaterial) -> Coverage | None:
    """The table, or None where the labelled set has no classes."""
    own = material.labelled.coverage
    if own is None or len(material.classes) < 2:
        return None
    columns = [(ranking.labelled.name, LABELLED)]
    columns += [(c.name, mark(k)) for k, c in enumerate(ranking.candidates)]
    shares = [own, *(material.pools[name].coverage or () for name, _ in columns[1:])]
    longest = max(max(column) for column in shares)
    classes = [
        (name, [_cell(column[i], own[i], longest) for column in shares])
        for i, name in enumerate(material.classes)
    ]
    missed = [
        (name, [word for word, cells in classes if cells[k].is_missed])
        for k, (name, _) in enumerate(columns)
    ]
    return Coverage(columns, classes, [(name, words) for name, words in missed if words])


def _cell(share: float, expected: float, longest: float) -> Cell:
    return Cell(
        share,
        round(100 * share / longest, 1),
        round(100 * expected / longest, 1),
        share < MISSED * expected,
    )
