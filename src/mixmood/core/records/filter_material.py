"""Images and scores for the page of a filter; gathered only where a page is asked for."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ScoredTile:
    """One image as the page shows it.

    Attributes:
        place: The path of the image, or its index in the array.
        uri: The small picture as a data URI; None if the file cannot be read any more.
        score: Its score; None for labelled images.
        is_kept: Whether it is kept; None for labelled images.
    """

    place: str
    uri: str | None
    score: float | None = None
    is_kept: bool | None = None


@dataclass(frozen=True)
class Gallery:
    """The images of one predicted class, or of the whole pool where there are no classes.

    Attributes:
        name: The class; None without classes.
        n_kept: How many images of it are kept.
        n_dropped: How many were dropped because of their score.
        labelled: Some labelled images.
        kept: Some kept images, the best score first.
        borderline: The images nearest to the threshold on both sides, the best score first.
        dropped: Some images that were dropped because of their score, the best score first.
    """

    name: str | None
    n_kept: int
    n_dropped: int
    labelled: tuple[ScoredTile, ...]
    kept: tuple[ScoredTile, ...]
    borderline: tuple[ScoredTile, ...]
    dropped: tuple[ScoredTile, ...]


@dataclass(frozen=True)
class ScoreHistogram:
    """How many images have scores in each of the equal bins between two scores.

    Attributes:
        low: Where the first bin begins; it also holds all lower scores.
        high: Where the last bin ends; it also holds all higher scores.
        labelled: Counts of the labelled images.
        pool: Counts of the readable images of the pool.
        kept: Counts of the kept images.
    """

    low: float
    high: float
    labelled: tuple[int, ...]
    pool: tuple[int, ...]
    kept: tuple[int, ...]


@dataclass(frozen=True)
class FilterMaterial:
    """Scores and pictures of a filtered pool.

    Attributes:
        histogram: The scores.
        galleries: The classes with the most kept images first; empty for features.
        n_classes_left_out: How many classes have no gallery.
    """

    histogram: ScoreHistogram
    galleries: tuple[Gallery, ...]
    n_classes_left_out: int
