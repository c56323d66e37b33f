"""The images of a pool in random order, read only as far as the draws need them."""

import numpy as np

from mixmood.core.arrays import Array, Rows
from mixmood.core.cache.features import FeatureCache
from mixmood.core.progress import Progress
from mixmood.core.seeds import rng_for
from mixmood.core.words import either_form
from mixmood.data.pools.pool import FeatureSource, Pool
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.extraction.extract import extract
from mixmood.features.extraction.noticed import noticed

N_NAMED = 5
"""How many unreadable images a warning names."""
SPARE = 4
"""Images tried at most for each one wanted: it bounds the time in a pool of broken files."""
FEW_DISTINCT = 0.9
"""A pool with a smaller share of distinct images gets a warning."""


COPIES = "are copies of labelled ones and were"


class Reading:
    """The features of the first readable images of a pool, in an order that the seed decides."""

    def __init__(
        self,
        pool: Pool,
        most: int,
        seed: int,
        backbone: Backbone | None,
        jobs: int | None,
        cache: FeatureCache | None,
        progress: Progress,
    ) -> None:
        """Choose the order; nothing is read yet. At most `most` images will be wanted."""
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
        self, n_rows: int, others: frozenset[bytes] = frozenset(), *, beyond: bool = False
    ) -> None:
        """Read on until there are `n_rows` readable images, or the pool has no more.

        Args:
            n_rows: How many are wanted.
            others: The `prints` of images that do not count when they are met again.
            beyond: Whether to read more than the draws need.
        """
        wanted = n_rows if beyond else min(n_rows, self.most)
        if beyond:
            self._lengthen(SPARE * n_rows)
        self._leave_out(others)
        while len(self.features) < wanted and self._n_tried < len(self._order):
            n_missing = wanted - len(self.features)
            indices = self._order[self._n_tried : self._n_tried + n_missing]
            self._n_tried += len(indices)
            features, kept = self._read(indices)
            self.features = np.concatenate([self.features, features])
            self.kept = np.concatenate([self.kept, kept])
            self._leave_out(others)

    def _lengthen(self, n_images: int) -> None:
        """Extend the order to `n_images` images; those that were in it keep their places."""
        n_wanted = min(len(self.pool), n_images)
        if len(self._order) < n_wanted:
            rng = rng_for(self._seed, "further order", self.pool.name)
            more = rng.choice(len(self.pool), n_wanted, replace=False)
            more = more[~np.isin(more, self._order)][: n_wanted - len(self._order)]
            self._order = np.concatenate([self._order, more])

    def prints(self) -> frozenset[bytes]:
        """Identifiers of the images read so far: equal images have equal features."""
        return frozenset(row.tobytes() for row in self.features)

    def _leave_out(self, others: frozenset[bytes]) -> None:
        if not others:
            return
        is_own = np.array([row.tobytes() not in others for row in self.features], dtype=bool)
        self.n_copies += int((~is_own).sum())
        self.features, self.kept = self.features[is_own], self.kept[is_own]

    def _read(self, indices: Rows) -> tuple[Array, Rows]:
        if isinstance(self.pool, FeatureSource):
            return self.pool.features(indices), indices
        if self._backbone is None:
            raise TypeError("A pool of images needs a backbone.")
        # A network that looks at a batch as a whole must not get one class after the other.
        is_free = not self._backbone.is_batch_dependent
        in_order = indices[self.pool.reading_order(indices)] if is_free else indices
        extraction = extract(
            self.pool,
            in_order,
            self._backbone,
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
        named = "; ".join(message for _, message in sorted(self._unreadable)[:N_NAMED])
        return named + (", ..." if self.n_unreadable > N_NAMED else "")

    @property
    def n_unreadable(self) -> int:
        """How many of the images tried could not be read."""
        return len(self._unreadable)

    @property
    def n_distinct(self) -> int:
        """How many of the images read are distinct."""
        return len(self.prints())

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may make the result of this pool wrong."""
        found = [] if isinstance(self.pool, FeatureSource) else list(self.pool.notes)
        if self._unreadable:
            found.append(
                f"{self.n_unreadable} of {self._n_tried} images tried could not be read and "
                f"{either_form(self.n_unreadable, 'was', 'were')} left out: {self.problems}"
            )
        if self.n_copies:
            found.append(
                f"{self.n_copies} of {self._n_tried} images tried "
                f"{either_form(self.n_copies, 'is a copy of a labelled one and was', COPIES)} "
                "left out: nothing is nearer to an image than itself."
            )
        n_distinct, n_read = self.n_distinct, len(self.features)
        if n_distinct < FEW_DISTINCT * n_read:
            found.append(
                f"only {n_distinct} of the {n_read} images read "
                f"{either_form(n_distinct, 'is', 'are')} distinct "
                f"({n_distinct / n_read:.0%}); the others repeat them."
            )
        fitted = None if isinstance(self.pool, FeatureSource) else self.pool.pixel_range
        found += noticed(self._n_tried, self.n_constant, self.n_poor_range, fitted)
        return tuple(found)
