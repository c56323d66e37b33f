"""Pictures and map of the page of a ranking; gathered only where a page is asked for."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tile:
    """One image as the page shows it.

    Attributes:
        place: What to call the image: its path, or its index in the array.
        uri: The small picture as a data URI; None where there are features but no pictures.
        distance: How unlike the labelled images it is, 1 - mean cosine to the three nearest;
            None for the labelled.
    """

    place: str
    uri: str | None
    distance: float | None


@dataclass(frozen=True)
class SetPictures:
    """One set, labelled or pool, as the page shows it.

    Attributes:
        tiles: A random sample of the images; the points of the map.
        points: Where on the map each of these tiles lies.
        nearest: The images nearest to the labelled set, nearest first; empty for that set itself.
        farthest: The images farthest from it, farthest first.
        warnings: What the pictures show that may make the distance wrong.
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
        variance: The shares of all variance that the two axes of the map hold.
        versions: Versions of the libraries that the numbers came from.
    """

    labelled: SetPictures
    pools: dict[str, SetPictures]
    variance: tuple[float, float]
    versions: dict[str, str]
