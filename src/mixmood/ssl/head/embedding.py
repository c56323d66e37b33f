"""Features of labelled images and of a pool: cached, sampled, with a report of images left out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Rows
from mixmood.core.cache.features import FeatureCache
from mixmood.core.errors import InputError
from mixmood.core.progress import Progress
from mixmood.core.seeds import rng_for
from mixmood.core.words import counted, either_form
from mixmood.data.decoding.pixel_range import PixelRange
from mixmood.data.labels.needed import needed_labels
from mixmood.data.pools.open import open_pool
from mixmood.data.pools.pool import FeatureSource, ImageSource, Pool
from mixmood.features.backbones.backbone import Backbone, needed_backbone
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
    """The index of each image in the pool."""
    n_unreadable: int

    @property
    def codes(self) -> NDArray[np.int64]:
        """The class of each image."""
        return needed_labels(self.pool, "labelled pool").codes[self.rows].astype(np.int64)


class Embedder:
    """Opens pools and computes their features; images that it leaves out are reported."""

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
        """Embed with this backbone; None if pools hold features already."""
        self._backbone, self._seed, self._jobs = backbone, seed, jobs
        self._cache, self._progress, self._warn = cache, progress, warn
        self.pixel_range: PixelRange | None = None

    def open(self, what: Any, role: str) -> Pool:
        """The pool; images of more than eight bits are scaled like the labelled ones."""
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
        backbone = needed_backbone(self._backbone, pool)
        found = extract(
            pool, asked, backbone, jobs=self._jobs, cache=self._cache, progress=self._progress
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
        """All rows of a pool, or a random sample, with a warning, if it has more than `most`."""
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
    is_new = ~_is_labelled(pool, labelled)
    n_copies = int((~is_new).sum())
    if n_copies == 0:
        return pool
    warn(
        f"{_copies(pool, n_copies)}; {either_form(n_copies, 'it is', 'they are')} left out of the "
        "pool."
    )
    return Embedded(pool.pool, pool.features[is_new], pool.rows[is_new], pool.n_unreadable)


def warn_of_copies(test: Embedded, labelled: Embedded, warn: Callable[[str], None]) -> None:
    """Warn of test images that are labelled images too; they stay in the test."""
    n_copies = int(_is_labelled(test, labelled).sum())
    if n_copies:
        warn(f"{_copies(test, n_copies)}: their accuracy is too good.")


def _is_labelled(images: Embedded, labelled: Embedded) -> NDArray[np.bool_]:
    """Which images have the features of a labelled image, shape (n,)."""
    known = {row.tobytes() for row in labelled.features}
    return np.array([row.tobytes() in known for row in images.features], dtype=bool)


def _copies(images: Embedded, count: int) -> str:
    are = either_form(count, "is", "are")
    return f"{images.pool.name}: {counted(count, 'image')} {are} also among the labelled images"
