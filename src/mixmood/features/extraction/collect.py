"""Puts the rows of an extraction in order."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.core.cache.features import FeatureCache
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.extraction.prepare import CONSTANT, POOR_RANGE, Prepared, kept_row

STORE_EVERY = 128
"""Rows that are written to the cache at once: a killed process may lose so many."""

Features = NDArray[np.float32]


@dataclass(frozen=True)
class Extraction:
    """Features of the readable images among those asked for, and why others are missing."""

    features: Features
    """Shape (k, width), row i for image kept[i]."""
    kept: NDArray[np.int64]
    """The indices that were readable, in the order asked for."""
    unreadable: list[tuple[int, str]]
    """The index of each image that could not be read, and why."""
    n_cached: int
    n_computed: int
    contents: tuple[bytes, ...]
    """A digest of the content of each kept image: equal images have equal digests."""
    n_constant: int
    """How many kept images have one value in all pixels."""
    n_poor_range: int
    """How many kept images of more than 8 bits are nearly black or white by the pool's range."""

    @property
    def n_distinct(self) -> int:
        """How many kept images differ in content."""
        return len(set(self.contents))


class Collector:
    """Puts rows, which come in any order, in the order asked for, and into the cache."""

    def __init__(
        self,
        asked: NDArray[np.int64],
        backbone: Backbone,
        cache: FeatureCache | None,
        advance: Callable[[int], None],
    ) -> None:
        """Begin without rows; `advance` is called with the number of images done."""
        self._asked = asked
        self._features = np.empty((len(asked), backbone.width), np.float32)
        self._is_kept = np.zeros(len(asked), bool)
        self._flags = np.zeros(len(asked), np.uint8)
        self._contents: list[bytes] = [b""] * len(asked)
        self._problems: dict[int, str] = {}
        self._n_cached = 0
        self._cache = None if backbone.is_batch_dependent else cache
        self._unstored: dict[bytes, Features] = {}
        self._advance = advance

    def waiting(self, read: Iterable[list[Prepared]]) -> Iterator[Prepared]:
        """The images that the backbone has to embed; the others are recorded as done."""
        for chunk in read:
            done = [image for image in chunk if image.row is not None or image.problem]
            self._n_cached += sum(image.row is not None for image in done)
            self._note(done)
            yield from (image for image in chunk if image.row is None and not image.problem)

    def take(self, images: list[Prepared]) -> None:
        """Record images that were embedded; their rows are written to the cache in groups."""
        self._note(images)
        if self._cache is None:
            return
        for image in images:
            if image.row is not None:
                self._unstored[image.key] = kept_row(image.row, image.flags)
        if len(self._unstored) >= STORE_EVERY:
            self.store()

    def store(self) -> None:
        """Write to the cache the rows that are not yet in it."""
        if self._cache is not None:
            self._cache.put(self._unstored)
        self._unstored = {}

    def result(self) -> Extraction:
        """All rows, without those of unreadable images."""
        kept, n_kept = self._asked[self._is_kept], int(self._is_kept.sum())
        features = self._features if n_kept == len(self._asked) else self._features[self._is_kept]
        # Sorted by place: the result must not depend on the order of the threads.
        unreadable = [(int(self._asked[i]), text) for i, text in sorted(self._problems.items())]
        flags = self._flags[self._is_kept]
        return Extraction(
            features,
            kept,
            unreadable,
            self._n_cached,
            n_kept - self._n_cached,
            tuple(self._contents[place] for place in np.flatnonzero(self._is_kept).tolist()),
            n_constant=int((flags & CONSTANT > 0).sum()),
            n_poor_range=int((flags & POOR_RANGE > 0).sum()),
        )

    def _note(self, images: list[Prepared]) -> None:
        for image in images:
            if image.row is not None:
                self._features[image.place] = image.row
                self._is_kept[image.place] = True
                self._flags[image.place] = image.flags
                self._contents[image.place] = image.key
            else:
                self._problems[image.place] = image.problem or "unknown"
        if images:
            self._advance(len(images))
