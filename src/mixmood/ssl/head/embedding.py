"""Features of labelled images and of a pool: cached, sampled, with a report of images left out."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mixmood.core.arrays import Rows
from mixmood.core.cache.features import FeatureCache
from mixmood.core.listener import Listener
from mixmood.core.seeds import rng_for
from mixmood.core.words import counted, either_form
from mixmood.data.images.pixel_range import PixelRange
from mixmood.data.images.pool import ImageSource, Pool
from mixmood.data.open import open_pool
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.sample import Extractor, Sample


class Embedder:
    """Opens pools and computes their features; images that it leaves out are reported."""

    def __init__(
        self,
        backbone: Backbone | None,
        *,
        seed: int,
        jobs: int | None,
        cache: FeatureCache | None,
        progress: Listener,
        warn: Callable[[str], None],
    ) -> None:
        """Embed with this backbone; None if pools hold features already."""
        self._extractor = Extractor(backbone, jobs, cache, progress)
        self._seed, self._cache, self._warn = seed, cache, warn
        self.pixel_range: PixelRange | None = None

    def open(self, what: Any, role: str) -> Pool:
        """The pool; images of more than eight bits are scaled like the labelled ones."""
        pool = open_pool(what, seed=self._seed, cache=self._cache, role=f"{role} pool")
        for note in getattr(pool, "notes", ()):
            self._warn(f"{pool.name}: {note}")
        if isinstance(pool, ImageSource) and self.pixel_range is not None:
            return pool.scaled_by(self.pixel_range)
        return pool

    def embed(self, pool: Pool, rows: Rows | None = None) -> Sample:
        """Features of all images of a pool, or of some."""
        found = self._extractor.read(pool, rows)
        for text in found.warnings:
            self._warn(f"{pool.name}: {text}")
        return found.not_empty()

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


def without_copies(pool: Sample, labelled: Sample, warn: Callable[[str], None]) -> Sample:
    """The pool without images that are labelled images too: they would be counted twice."""
    is_copy = pool.is_copy_of(labelled)
    n_copies = int(is_copy.sum())
    if n_copies == 0:
        return pool
    warn(
        f"{_copies(pool, n_copies)}; {either_form(n_copies, 'it is', 'they are')} left out of the "
        "pool."
    )
    return pool.where(~is_copy)


def warn_of_copies(test: Sample, labelled: Sample, warn: Callable[[str], None]) -> None:
    """Warn of test images that are labelled images too; they stay in the test."""
    n_copies = int(test.is_copy_of(labelled).sum())
    if n_copies:
        warn(f"{_copies(test, n_copies)}: their accuracy is too good.")


def _copies(images: Sample, count: int) -> str:
    are = either_form(count, "is", "are")
    return f"{images.pool.name}: {counted(count, 'image')} {are} also among the labelled images"
