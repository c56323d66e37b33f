"""The histogram of scores and the pictures that the page of a filter shows beside its record."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mixmood.core.arrays import Array, Rows
from mixmood.core.records.filtering import FilterMaterial, Gallery, ScoreHistogram
from mixmood.core.records.ranking import Tile
from mixmood.core.seeds import rng_for
from mixmood.data.images.pool import FeatureSource, ImageSource, Pool, thumbnails
from mixmood.selection.filter import FilterJob, ScannedPool

N_TILES = 8  # images in a row of a gallery
MOST_GALLERIES = 8
N_BINS = 60
OUTER = 0.002  # the share of scores in each outer bin, so that outliers do not stretch the axis


def gather_filter_material(
    job: FilterJob, decided: ScannedPool, threshold: float | None, labelled: Pool | None
) -> FilterMaterial:
    """The histogram and the galleries of a filtered pool; a threshold shows borderline images."""
    histogram = score_histogram(job.scorer.filter.score.fit.labelled, decided)
    if isinstance(job.pool, FeatureSource):
        return FilterMaterial(histogram, (), 0)
    own = labelled if isinstance(labelled, ImageSource) else None
    rng = rng_for(job.plan.seed, "filter", "pictures")
    maker = _GalleryMaker(job.pool, decided, threshold, own, rng)
    names = job.scorer.class_names
    if job.scorer.head is None:
        return FilterMaterial(histogram, (maker.gallery(),), 0)
    n_kept = np.bincount(decided.classes[decided.is_kept], minlength=len(names))
    order = np.argsort(-n_kept, kind="stable")[:MOST_GALLERIES].tolist()
    galleries = tuple(maker.gallery(code, names[code]) for code in order)
    return FilterMaterial(histogram, galleries, len(names) - len(order))


def score_histogram(labelled: Array, decided: ScannedPool) -> ScoreHistogram:
    """Counts of the scores of labelled, pool and kept images in equal bins."""
    readable = decided.scores[~np.isnan(decided.scores)]
    both = np.concatenate([labelled, readable])
    low, high = np.quantile(both, [OUTER, 1 - OUTER]).tolist()
    if low == high:
        low, high = low - 0.5, high + 0.5

    def counts(values: Array) -> tuple[int, ...]:
        inside = np.clip(values, low, high)
        return tuple(np.histogram(inside, N_BINS, (low, high))[0].tolist())

    kept = decided.scores[decided.is_kept]
    return ScoreHistogram(low, high, counts(labelled), counts(readable), counts(kept))


@dataclass(frozen=True)
class _GalleryMaker:
    """Chooses the images of each gallery and reads them."""

    pool: ImageSource
    decided: ScannedPool
    threshold: float | None
    labelled: ImageSource | None
    rng: np.random.Generator

    def gallery(self, code: int | None = None, name: str | None = None) -> Gallery:
        """The gallery of a class, or of all images."""
        own = self.decided
        is_own = np.ones(len(own.classes), bool) if code is None else own.classes == code
        kept = np.flatnonzero(is_own & own.is_kept)
        dropped = np.flatnonzero(is_own & own.is_dropped)
        labelled, some_kept = self._labelled_tiles(name), self._tiles(self._some(kept))
        nearest = np.empty(0, np.int64)
        if self.threshold is not None:
            both = np.concatenate([kept, dropped])
            apart = np.abs(own.scores[both] - self.threshold)
            nearest = both[np.argsort(apart, kind="stable")[:N_TILES]]
        some_dropped = self._tiles(self._some(dropped))
        tiles = (labelled, some_kept, self._tiles(nearest), some_dropped)
        return Gallery(name, len(kept), len(dropped), *tiles)

    def _some(self, rows: Rows) -> Rows:
        """At most N_TILES random images of these."""
        return rows if len(rows) <= N_TILES else self.rng.choice(rows, N_TILES, replace=False)

    def _tiles(self, rows: Rows) -> tuple[Tile, ...]:
        scores, is_kept = self.decided.scores, self.decided.is_kept
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
