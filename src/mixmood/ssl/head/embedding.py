"""Features of labelled images and of a pool: cached, sampled, with what was left out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Rows
from mixmood.core.cache.features import FeatureCache
from mixmood.core.errors import InputError, ShapeError
from mixmood.core.progress import Progress
from mixmood.core.seeds import rng_for
from mixmood.core.words import counted, either_form
from mixmood.data.decoding.pixel_range import PixelRange
from mixmood.data.labels.needed import needed_labels
from mixmood.data.pools.open import open_pool
from mixmood.data.pools.pool import FeatureSource, ImageSource, Pool
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.extraction.extract import extract
from mixmood.features.extraction.noticed import noticed
from mixmood.ssl.input.pictures import unreadable_note


@dataclass(frozen=True)
class Embedded:
    """The features of the readable images of a pool, and which images they are."""

    pool: Pool
    features: Array
    """Shape (n, d)."""
    rows: Rows
    """The index of each in the pool."""
    n_unreadable: int

    @property
    def codes(self) -> NDArray[np.int64]:
        """The class of each image."""
        return needed_labels(self.pool, "labelled pool").codes[self.rows].astype(np.int64)


class Embedder:
    """Opens pools and gives their features; whatever it leaves out is reported."""

    def __init__(
        self,
        backbone: Backbone | None,
        *,
        seed: int,
        jobs: int | None,
        cache: FeatureCache | None,
        progress: Progress,
        warn: Callable[[str], None],
    ) -> None:
        """Embed with this backbone; None where features are given."""
        self._backbone, self._seed, self._jobs = backbone, seed, jobs
        self._cache, self._progress, self._warn = cache, progress, warn
        self.pixel_range: PixelRange | None = None

    def open(self, what: Any, role: str) -> Pool:
        """The pool; where it is of images, scaled as the labelled ones are."""
        pool = open_pool(what, seed=self._seed, cache=self._cache, role=f"{role} pool")
        for note in getattr(pool, "notes", ()):
            self._warn(f"{pool.name}: {note}")
        if isinstance(pool, ImageSource) and self.pixel_range is not None:
            return pool.scaled_by(self.pixel_range)
        return pool

    def embed(self, pool: Pool, rows: Rows | None = None) -> Embedded:
        """Features of all images of a pool, or of some."""
        asked = np.arange(len(pool)) if rows is None else rows
        if isinstance(pool, FeatureSource):
            return Embedded(pool, np.asarray(pool.features(asked)), asked, 0)
        if self._backbone is None:
            raise ShapeError(
                f"{pool.name} holds images, but the labelled set holds features. Give both as "
                "images, or both as features of one backbone."
            )
        found = extract(
            pool, asked, self._backbone, jobs=self._jobs, cache=self._cache, progress=self._progress
        )
        if found.unreadable:
            self._warn(
                unreadable_note(pool.name, [pool.locate(index) for index, _ in found.unreadable])
            )
        for text in noticed(len(asked), found.n_constant, found.n_poor_range, pool.pixel_range):
            self._warn(f"{pool.name}: {text}")
        if not len(found.kept):
            raise InputError(
                f"{pool.name} has no readable image among {len(asked)}. Check the files."
            )
        return Embedded(pool, found.features, found.kept, len(found.unreadable))

    def sample(self, pool: Pool, most: int) -> Rows:
        """All images of a pool, or a random sample of a larger one, and a line that says so."""
        if len(pool) <= most:
            return np.arange(len(pool))
        self._warn(
            f"{pool.name}: a random sample of {most} of its {len(pool)} images is used; "
            "--pool-limit changes that."
        )
        rng = rng_for(self._seed, "pool sample")
        return np.sort(rng.choice(len(pool), most, replace=False))


def without_copies(pool: Embedded, labelled: Embedded, warn: Callable[[str], None]) -> Embedded:
    """The pool without images that are labelled images too: they would be counted twice."""
    known = {row.tobytes() for row in labelled.features}
    is_new = np.array([row.tobytes() not in known for row in pool.features], dtype=bool)
    n_known = int((~is_new).sum())
    if n_known == 0:
        return pool
    warn(
        f"{pool.pool.name}: {counted(n_known, 'image')} {either_form(n_known, 'is', 'are')} also "
        f"among the labelled images; {either_form(n_known, 'it is', 'they are')} left out of the "
        "pool."
    )
    return Embedded(pool.pool, pool.features[is_new], pool.rows[is_new], pool.n_unreadable)
