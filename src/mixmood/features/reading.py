"""The images of a pool in random order, read only as far as they are needed."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mixmood.core.arrays import Array, Rows
from mixmood.core.seeds import rng_for
from mixmood.core.text import either_form
from mixmood.data.images.pool import FeatureSource, Pool
from mixmood.features.extract import Extractor
from mixmood.features.sample import Sample

SPARE = 4  # at most so many images are tried for each one wanted: bounds the time with broken files
LEAST_ORDER = 1000  # an order has SPARE times so many images, which gains need
MOST_SHUFFLED = 2**20  # larger pools are not shuffled: a second for ten million images
LABELLED, POOL = "labelled", "pool"  # an order depends on seed, side and number of images alone


def random_order(n_images: int, n_wanted: int, seed: int, side: str) -> Rows:
    """The first `n_wanted` of all images in random order, shape (n_wanted,).

    Asking for more images leaves the first ones as they are.

    >>> random_order(9, 3, 0, POOL).tolist() == random_order(9, 9, 0, POOL)[:3].tolist()
    True
    """
    rng, n_wanted = rng_for(seed, "order", side), min(n_wanted, n_images)
    if n_images <= MOST_SHUFFLED:
        return rng.permutation(n_images)[:n_wanted]
    distinct: dict[int, None] = {}
    while len(distinct) < n_wanted:
        distinct |= dict.fromkeys(rng.integers(n_images, size=MOST_SHUFFLED // 8).tolist())
    return np.array(list(distinct)[:n_wanted], np.int64)


@dataclass(frozen=True, eq=False)
class Reading:
    """The first readable images of a pool in a random order; it never changes."""

    sample: Sample
    order: Rows  # images of the pool in the order in which they are tried
    most: int  # the largest number of images that draws need
    extractor: Extractor
    banned: frozenset[bytes] = frozenset()  # contents of images that a model is tested on

    @classmethod
    def begin(
        cls,
        pool: Pool,
        most: int,
        seed: int,
        side: str,
        extractor: Extractor,
        among: Rows | None = None,
        banned: frozenset[bytes] = frozenset(),
    ) -> "Reading":
        """A reading of no image yet; `among` are the images that may be read, all if None."""
        n_images = len(pool) if among is None else len(among)
        order = random_order(n_images, SPARE * max(most, LEAST_ORDER), seed, side)
        order = order if among is None else among[order]
        return cls(extractor.nothing(pool), order, min(most, n_images), extractor, banned)

    def read_on(
        self, n_images: int, left_out: Sample | None = None, *, beyond: bool = False
    ) -> "Reading":
        """A reading of `n_images` readable images not in `left_out`, or of all if there are fewer.

        With `beyond`, more are read than the draws need.
        """
        wanted = n_images if beyond else min(n_images, self.most)
        known = self.banned | frozenset(() if left_out is None else left_out.contents)
        sample = self.sample.where(~self.sample.is_among(known))
        order = self.order[: SPARE * max(wanted, self.most)]
        while len(sample) < wanted and sample.n_tried < len(order):
            n_missing = wanted - len(sample)
            rows = order[sample.n_tried : sample.n_tried + n_missing]
            read = self.extractor.read(self.pool, rows)
            sample = sample + read.where(~read.is_among(known))
        return replace(self, sample=sample)

    @property
    def pool(self) -> Pool:
        """The pool that is read."""
        return self.sample.pool

    @property
    def features(self) -> Array:
        """The features of the images in the view, shape (n, d)."""
        return self.sample.features

    @property
    def codes(self) -> Rows | None:
        """The class of each image, shape (n,); None if the pool has no classes."""
        return None if self.pool.labels is None else self.sample.codes

    @property
    def counts(self) -> dict[str, Any]:
        """What a record says of the pool and of the images that were read."""
        return {
            "name": self.pool.name,
            "n_images": len(self.pool),
            "n_unreadable": len(self.sample.unreadable),
            "n_read": len(self.sample),
            "n_distinct": self.sample.n_distinct,
            "fingerprint": self.pool.fingerprint,
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """Facts about this pool that may make its result wrong."""
        notes = () if isinstance(self.pool, FeatureSource) else self.pool.notes
        sample = self.sample
        copies: tuple[str, ...] = ()
        if n_copies := sample.n_left_out:
            kinds = "labelled or test images" if self.banned else "labelled ones"
            one, many = f"is among the {kinds} and was", f"are copies of {kinds} and were"
            are_copies = either_form(n_copies, one, many)
            copies = (f"{n_copies} of {sample.n_tried} images tried {are_copies} left out.",)
        return (*notes, *sample.warnings, *copies, *sample.repetition_warning)
