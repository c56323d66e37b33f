"""The histogram of scores and the pictures that the page of a filter shows beside its record."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mixmood.core.arrays import Array, Rows
from mixmood.core.records.filtering import FilterMaterial, Gallery, ScoreHistogram
from mixmood.core.records.ranking import Tile
from mixmood.core.seeds import rng_for
from mixmood.data.images.pool import FeatureSource, ImageSource, Pool, thumbnails
from mixmood.selection.decide import FOREIGN, OVER_COUNT
from mixmood.selection.filter import Decision, FilterJob

N_TILES = 8
"""Images in a row of a gallery."""
MOST_GALLERIES = 8
N_BINS = 60
OUTER = 0.002
"""The share of scores at each end that goes into the outer bins, so that outliers do not stretch
the axis."""


def gather_filter_material(
    job: FilterJob, decision: Decision, threshold: float | None, labelled: Pool | None
) -> FilterMaterial:
    """The histogram and the galleries of a filtered pool.

    Args:
        threshold: The score around which images are borderline; None shows no such images.
        labelled: The labelled set; None with a saved filter.
    """
    histogram = score_histogram(job.scorer.filter.score.fit.labelled, decision)
    if isinstance(job.pool, FeatureSource):
        return FilterMaterial(histogram, (), 0)
    own = labelled if isinstance(labelled, ImageSource) else None
    rng = rng_for(job.plan.seed, "filter", "pictures")
    galleries_of = _GalleryMaker(job.pool, decision, threshold, own, rng)
    names = job.scorer.class_names
    if job.scorer.head is None:
        return FilterMaterial(histogram, (galleries_of.gallery(None, None),), 0)
    n_kept = np.bincount(decision.scanned.classes[decision.is_kept], minlength=len(names))
    order = np.argsort(-n_kept, kind="stable")[:MOST_GALLERIES].tolist()
    galleries = tuple(galleries_of.gallery(code, names[code]) for code in order)
    return FilterMaterial(histogram, galleries, len(names) - len(order))


def score_histogram(labelled: Array, decision: Decision) -> ScoreHistogram:
    """Counts of the scores of labelled, pool and kept images in equal bins."""
    scores = decision.scores
    readable = scores[~np.isnan(scores)]
    both = np.concatenate([labelled, readable])
    low, high = (float(value) for value in np.quantile(both, [OUTER, 1 - OUTER]))
    if low == high:
        low, high = low - 0.5, high + 0.5

    def counts(values: Array) -> tuple[int, ...]:
        inside = np.clip(values, low, high)
        return tuple(np.histogram(inside, N_BINS, (low, high))[0].tolist())

    return ScoreHistogram(
        low, high, counts(labelled), counts(readable), counts(scores[decision.is_kept])
    )


@dataclass(frozen=True)
class _GalleryMaker:
    """Chooses the images of each gallery and reads them."""

    pool: ImageSource
    decision: Decision
    threshold: float | None
    labelled: ImageSource | None
    rng: np.random.Generator

    def gallery(self, code: int | None, name: str | None) -> Gallery:
        """The gallery of a class, or of all images."""
        classes, scores = self.decision.scanned.classes, self.decision.scanned.scores
        is_own = np.ones(len(classes), bool) if code is None else classes == code
        kept = np.flatnonzero(is_own & self.decision.is_kept)
        is_dropped = np.isin(self.decision.reasons, [FOREIGN, OVER_COUNT])
        dropped = np.flatnonzero(is_own & is_dropped)
        labelled = self._labelled_tiles(name)
        some_kept, nearest = self._tiles(self._some(kept)), np.empty(0, np.int64)
        if self.threshold is not None:
            both = np.concatenate([kept, dropped])
            apart = np.abs(scores[both] - self.threshold)
            nearest = both[np.argsort(apart, kind="stable")[:N_TILES]]
        return Gallery(
            name,
            len(kept),
            len(dropped),
            labelled,
            some_kept,
            borderline=self._tiles(nearest),
            dropped=self._tiles(self._some(dropped)),
        )

    def _some(self, rows: Rows) -> Rows:
        """At most N_TILES random images of these."""
        if len(rows) <= N_TILES:
            return rows
        return rows[self.rng.choice(len(rows), N_TILES, replace=False)]

    def _tiles(self, rows: Rows) -> tuple[Tile, ...]:
        scores, is_kept = self.decision.scanned.scores, self.decision.is_kept
        order = rows[np.argsort(-scores[rows], kind="stable")]
        return tuple(
            Tile(place, uri, None, float(scores[row]), bool(is_kept[row]))
            for row, (place, uri) in zip(order.tolist(), _read(self.pool, order), strict=True)
        )

    def _labelled_tiles(self, name: str | None) -> tuple[Tile, ...]:
        if self.labelled is None:
            return ()
        labels, rows = self.labelled.labels, np.arange(len(self.labelled))
        if name is not None and labels is not None:
            rows = np.flatnonzero(labels.codes == labels.names.index(name))
        chosen = np.sort(self._some(rows))
        return tuple(Tile(place, uri) for place, uri in _read(self.labelled, chosen))


def _read(pool: ImageSource, rows: Rows) -> Iterable[tuple[str, str | None]]:
    """The name of each image and its small picture, None where it cannot be read any more."""
    return zip(map(pool.locate, rows.tolist()), thumbnails(pool, rows), strict=True)
