"""Pictures and map of the page of a ranking; gathered only where a page is asked for."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tile:
    """One image as the page shows it.

    Attributes:
        place: The path of the image, or its index in the array.
        uri: The small picture as a data URI; None where there are features but no pictures.
        distance: 1 - mean cosine to the three nearest labelled images; None for labelled images.
    """

    place: str
    uri: str | None
    distance: float | None


@dataclass(frozen=True)
class SetPictures:
    """One set, labelled or pool, as the page shows it.

    Attributes:
        tiles: A random sample of the images; the points of the map.
        points: The position of each of these tiles on the map.
        nearest: The images nearest to the labelled set, nearest first; empty for that set itself.
        farthest: The images farthest from it, farthest first.
        warnings: Differences in size or colour that may explain the distance.
    """

    tiles: tuple[Tile, ...]
    points: tuple[tuple[float, float], ...]
    nearest: tuple[Tile, ...]
    farthest: tuple[Tile, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class PageMaterial:
    """Pictures and map of a ranking.

    Attributes:
        labelled: The labelled set.
        pools: The pools by name.
        variance: The share of all variance along each axis of the map.
        versions: Versions of the libraries that computed the numbers.
    """

    labelled: SetPictures
    pools: dict[str, SetPictures]
    variance: tuple[float, float]
    versions: dict[str, str]
