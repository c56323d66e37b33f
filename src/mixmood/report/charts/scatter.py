"""The map: the sample of every set as points, with coordinates in percent of the picture."""

from collections.abc import Sequence
from dataclasses import dataclass

from mixmood.core.records.page_material import PageMaterial, Tile
from mixmood.core.records.ranking import Ranking
from mixmood.report.charts.marks import LABELLED, Mark, mark

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
