"""The images of a pool in random order, read only as far as the draws need them."""

import numpy as np

from mixmood.core.arrays import Array, Rows
from mixmood.core.cache.features import FeatureCache
from mixmood.core.listener import Listener
from mixmood.core.seeds import rng_for
from mixmood.core.words import either_form
from mixmood.data.images.pool import FeatureSource, Pool
from mixmood.features.backbones.backbone import Backbone, needed_backbone
from mixmood.features.extract import extract
from mixmood.features.sample import pixel_warnings

N_NAMED = 5
"""How many unreadable images a warning names."""
SPARE = 4
"""At most so many images are tried for each one wanted: bounds the time with broken files."""
FEW_DISTINCT = 0.9
"""A pool with a smaller share of distinct images gets a warning."""


class Reading:
    """The features of the first readable images of a pool, in a random order."""

    def __init__(
        self,
        pool: Pool,
        most: int,
        seed: int,
        backbone: Backbone | None,
        jobs: int | None,
        cache: FeatureCache | None,
        progress: Listener,
    ) -> None:
        """Choose the order; nothing is read yet. The draws need at most `most` images."""
        self.pool = pool
        self.most = min(most, len(pool))
        self._order = rng_for(seed, "order", pool.name).choice(
            len(pool), min(len(pool), SPARE * most), replace=False
        )
        self._seed, self._n_tried = seed, 0
        self._backbone, self._jobs = backbone, jobs
        self._cache, self._progress = cache, progress
        self._unreadable: list[tuple[int, str]] = []
        self.n_copies = 0
        self.n_constant = 0
        self.n_poor_range = 0
        width = pool.width if isinstance(pool, FeatureSource) else backbone.width if backbone else 0
        self.features: Array = np.empty((0, width), np.float32)
        self.kept: Rows = np.empty(0, np.int64)  # which image of the pool each row is

    def grow(
        self, n_rows: int, left_out: frozenset[bytes] = frozenset(), *, beyond: bool = False
    ) -> None:
        """Read on until there are `n_rows` readable images, or the pool has no more.

        Args:
            n_rows: How many are wanted.
            left_out: The `row_keys` of another set; images of it are left out here.
            beyond: Whether to read more than the draws need.
        """
        wanted = n_rows if beyond else min(n_rows, self.most)
        if beyond:
            self._extend_order(SPARE * n_rows)
        self._leave_out(left_out)
        while len(self.features) < wanted and self._n_tried < len(self._order):
            n_missing = wanted - len(self.features)
            indices = self._order[self._n_tried : self._n_tried + n_missing]
            self._n_tried += len(indices)
            features, kept = self._read(indices)
            self.features = np.concatenate([self.features, features])
            self.kept = np.concatenate([self.kept, kept])
            self._leave_out(left_out)

    def _extend_order(self, n_images: int) -> None:
        """Extend the order to `n_images` images; the images in it keep their places."""
        n_wanted = min(len(self.pool), n_images)
        if len(self._order) < n_wanted:
            rng = rng_for(self._seed, "further order", self.pool.name)
            more = rng.choice(len(self.pool), n_wanted, replace=False)
            more = more[~np.isin(more, self._order)][: n_wanted - len(self._order)]
            self._order = np.concatenate([self._order, more])

    def row_keys(self) -> frozenset[bytes]:
        """The features of each image read so far, as bytes: equal images have equal keys."""
        return frozenset(row.tobytes() for row in self.features)

    def _leave_out(self, row_keys: frozenset[bytes]) -> None:
        if not row_keys:
            return
        is_new = np.array([row.tobytes() not in row_keys for row in self.features], dtype=bool)
        self.n_copies += int((~is_new).sum())
        self.features, self.kept = self.features[is_new], self.kept[is_new]

    def _read(self, indices: Rows) -> tuple[Array, Rows]:
        if isinstance(self.pool, FeatureSource):
            return self.pool.features(indices), indices
        backbone = needed_backbone(self._backbone, self.pool)
        # Features that depend on the batch would change if images came class by class.
        may_sort = not backbone.is_batch_dependent
        in_order = indices[self.pool.reading_order(indices)] if may_sort else indices
        extraction = extract(
            self.pool,
            in_order,
            backbone,
            jobs=self._jobs,
            cache=self._cache,
            progress=self._progress,
        )
        self._unreadable.extend(extraction.unreadable)
        self.n_constant += extraction.n_constant
        self.n_poor_range += extraction.n_poor_range
        row_of = {int(index): row for row, index in enumerate(extraction.kept)}
        kept = indices[np.isin(indices, extraction.kept)]
        return extraction.features[[row_of[int(index)] for index in kept]], kept

    @property
    def problems(self) -> str:
        """The first images that could not be read, each with its reason; empty if there is none."""
        first = sorted(self._unreadable)[:N_NAMED]
        named = "; ".join(message.rstrip(".") for _, message in first)
        return named + (", ..." if self.n_unreadable > N_NAMED else "." if named else "")

    @property
    def n_unreadable(self) -> int:
        """How many of the images tried could not be read."""
        return len(self._unreadable)

    @property
    def n_distinct(self) -> int:
        """How many of the images read are distinct."""
        return len(self.row_keys())

    @property
    def warnings(self) -> tuple[str, ...]:
        """Facts about this pool that may make its result wrong."""
        found = [] if isinstance(self.pool, FeatureSource) else list(self.pool.notes)
        if self._unreadable:
            found.append(
                f"{self.n_unreadable} of {self._n_tried} images tried could not be read and "
                f"{either_form(self.n_unreadable, 'was', 'were')} left out: {self.problems}"
            )
        if self.n_copies:
            are_copies = either_form(
                self.n_copies,
                "is a copy of a labelled one and was",
                "are copies of labelled ones and were",
            )
            found.append(
                f"{self.n_copies} of {self._n_tried} images tried {are_copies} left out: copies "
                "would distort the distance."
            )
        n_distinct, n_read = self.n_distinct, len(self.features)
        if n_distinct < FEW_DISTINCT * n_read:
            found.append(
                f"only {n_distinct} of the {n_read} images read "
                f"{either_form(n_distinct, 'is', 'are')} distinct "
                f"({n_distinct / n_read:.0%}); the others repeat them."
            )
        fitted = None if isinstance(self.pool, FeatureSource) else self.pool.pixel_range
        found += pixel_warnings(self._n_tried, self.n_constant, self.n_poor_range, fitted)
        return tuple(found)
