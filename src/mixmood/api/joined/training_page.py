"""The page of a trained head, with its pictures."""

from collections import Counter

import numpy as np

from mixmood.core.arrays import Rows
from mixmood.core.errors import UnreadableImageError
from mixmood.core.records.ranking import Tile
from mixmood.data.images.decode import THUMBNAIL_SIDE, thumbnail
from mixmood.data.images.pool import FeatureSource
from mixmood.features.sample import Sample
from mixmood.report.training import Mistakes, TrainingPictures, training_page
from mixmood.ssl.head import HeadRun

N_TILES = 8
MOST_MISTAKES = 12
"""Pairs of classes whose mistakes are shown, the most frequent first."""
MOST_CLASSES = 20
"""With more classes, the surest images of each class are not shown."""


def training_report(run: HeadRun, command: str | None = None) -> str:
    """The page of a head, as HTML text."""
    names = run.record.class_names
    pictures = TrainingPictures(
        labelled=run.labelled.pool.name,
        pool=None if run.pool is None else run.pool.pool.name,
        mistakes=_mistakes(run, names),
        surest=_surest(run, names) if len(names) <= MOST_CLASSES else {},
    )
    return training_page(run.record, pictures, command)


def _mistakes(run: HeadRun, names: tuple[str, ...]) -> tuple[Mistakes, ...]:
    """Images that the first cross-validation misclassified, by true and predicted class."""
    logits = run.trained.logits[0]
    seen = np.isfinite(logits).all(axis=1)
    predicted = np.where(seen, np.nan_to_num(logits).argmax(axis=1), run.codes)
    wrong = np.flatnonzero(predicted != run.codes)
    pairs = Counter(zip(run.codes[wrong].tolist(), predicted[wrong].tolist(), strict=True))
    found = []
    for (true, other), count in sorted(pairs.items(), key=lambda item: (-item[1], item[0])):
        rows = wrong[(run.codes[wrong] == true) & (predicted[wrong] == other)][:N_TILES]
        found.append(Mistakes(names[true], names[other], count, _tiles(run.labelled, rows)))
        if len(found) == MOST_MISTAKES:
            break
    return tuple(found)


def _surest(run: HeadRun, names: tuple[str, ...]) -> dict[str, tuple[Tile, ...]]:
    if run.pool is None or not len(run.pool.features):
        return {}
    chances = run.trained.head.predict_proba(run.pool.features)
    likeliest = chances.argmax(axis=1)
    found = {}
    for code, name in enumerate(names):
        rows = np.flatnonzero(likeliest == code)
        order = np.argsort(-chances[rows, code], kind="stable")[:N_TILES]
        if len(rows):
            found[name] = _tiles(run.pool, rows[order])
    return found


def _tiles(sample: Sample, rows: Rows) -> tuple[Tile, ...]:
    pool = sample.pool
    if isinstance(pool, FeatureSource):
        return tuple(Tile(f"{pool.name}[{row}]", None, None) for row in sample.rows[rows])
    tiles = []
    for index in sample.rows[rows].tolist():
        try:
            uri = thumbnail(pool.picture(index, THUMBNAIL_SIDE))
        except UnreadableImageError:
            # It was readable before training; the page is written without it.
            uri = None
        tiles.append(Tile(pool.locate(index), uri, None))
    return tuple(tiles)
