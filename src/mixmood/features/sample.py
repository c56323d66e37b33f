"""What are the features of these images of a pool, and what was noticed while reading them?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Self

import numpy as np

from mixmood.core.arrays import Array, Mask, Rows
from mixmood.core.errors import InputError
from mixmood.core.text import either_form, in_percent
from mixmood.data.images.labels import needed_labels
from mixmood.data.images.pixel_range import PixelRange
from mixmood.data.images.pool import FeatureSource, Pool
from mixmood.features.backbones.view import LAST, Blocks, joined

N_NAMED = 5  # how many unreadable images a warning names
FEW_DISTINCT = 0.9  # a sample with a smaller share of distinct images gets a warning
FEW_POOR_RANGE = 0.1  # a larger share of nearly black or white images gets a warning


@dataclass(frozen=True, eq=False)
class Sample:
    """The features of some images of a pool; it never changes.

    `rows`, `blocks` and `contents` are about the images in the sample. The counts are about all
    images that were tried, also those that are not in the sample.
    """

    pool: Pool
    rows: Rows  # the index of each image in the pool, in the order asked for
    blocks: Blocks  # raw features by the name of the block, each of shape (n, d)
    n_tried: int
    unreadable: tuple[tuple[int, str], ...] = ()  # the index of each such image, and why
    n_constant: int = 0  # how many images tried have one value in all pixels
    n_poor_range: int = 0  # and how many, of more than 8 bits, are black or white by the range
    depth: str = LAST  # which blocks the features consist of
    digests: tuple[bytes, ...] = ()  # a digest of each image file; none for a pool of features
    is_batch_dependent: bool = False  # whether equal images may have other features

    def __len__(self) -> int:
        """How many images the sample holds."""
        return len(self.rows)

    def __add__(self, other: Self) -> Self:
        """Both samples of a pool, one after the other."""
        return replace(
            self,
            rows=np.concatenate([self.rows, other.rows]),
            blocks={
                name: np.concatenate([block, other.blocks[name]])
                for name, block in self.blocks.items()
            },
            n_tried=self.n_tried + other.n_tried,
            unreadable=self.unreadable + other.unreadable,
            n_constant=self.n_constant + other.n_constant,
            n_poor_range=self.n_poor_range + other.n_poor_range,
            digests=self.digests + other.digests,
            is_batch_dependent=self.is_batch_dependent or other.is_batch_dependent,
        )

    def where(self, is_wanted: Mask) -> Self:
        """The sample with some of its images; `is_wanted` has shape (n,)."""
        if is_wanted.all():
            return self  # with its cached contents and features
        digests = tuple(compress(self.digests, is_wanted))
        blocks = {name: block[is_wanted] for name, block in self.blocks.items()}
        return replace(self, rows=self.rows[is_wanted], blocks=blocks, digests=digests)

    def is_copy_of(self, other: "Sample") -> Mask:
        """Which images are also in the other sample, shape (n,)."""
        return self.is_among(frozenset(other.contents))

    def is_among(self, contents: frozenset[bytes]) -> Mask:
        """Which images have one of these contents, shape (n,)."""
        if not contents:
            return np.zeros(len(self), bool)  # without the contents of the images, which are copies
        return np.array([content in contents for content in self.contents], dtype=bool)

    @cached_property
    def features(self) -> Array:
        """The features of the depth, shape (n, d)."""
        return joined(self.blocks, self.depth)

    @property
    def last(self) -> Array:
        """The last layer, on which distances are computed, shape (n, d)."""
        return self.blocks[LAST]

    def at(self, depth: str) -> Self:
        """These images at another depth, whose blocks must be there."""
        return replace(self, depth=depth)

    @cached_property
    def contents(self) -> tuple[bytes, ...]:
        """The content of each image: equal images have equal contents."""
        if self.is_batch_dependent:
            return self.digests
        rows = next(iter(self.blocks.values()))
        if isinstance(self.pool, FeatureSource):  # sets may hold the same numbers as other floats
            rows = rows.astype(np.float64)
        return tuple(row.tobytes() for row in rows)

    @property
    def n_distinct(self) -> int:
        """How many images of the sample are distinct."""
        return len(set(self.contents))

    @property
    def n_left_out(self) -> int:
        """How many readable images were tried but are not in the sample."""
        return self.n_tried - len(self.unreadable) - len(self)

    @property
    def codes(self) -> Rows:
        """The class of each image, shape (n,); InputError if the pool has no classes."""
        return needed_labels(self.pool).codes[self.rows].astype(np.int64)

    def not_empty(self) -> Self:
        """The sample; InputError if no image could be read."""
        if not len(self):
            raise no_readable_image(self.pool.name, self.n_tried)
        return self

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about images that could not be read, are constant, or have a wrong range."""
        pixel_range = None if isinstance(self.pool, FeatureSource) else self.pool.pixel_range
        return (
            *unreadable_warning(self.n_tried, [why for _, why in self.unreadable]),
            *pixel_warnings(self.n_tried, self.n_constant, self.n_poor_range, pixel_range),
        )

    @property
    def repetition_warning(self) -> tuple[str, ...]:
        """A sentence if few of the images are distinct; else nothing."""
        if (n_distinct := self.n_distinct) >= FEW_DISTINCT * len(self):
            return ()
        are = either_form(n_distinct, "is", "are")
        return (
            f"only {n_distinct} of the {len(self)} images read {are} distinct "
            f"({in_percent(n_distinct / len(self))}); the others repeat them.",
        )


def no_readable_image(name: str, n_tried: int) -> InputError:
    """The error for a pool of which no image could be read."""
    return InputError(f"{name} has no readable image among {n_tried}. Check the files.")


def unreadable_warning(n_tried: int, problems: Sequence[str]) -> Iterator[str]:
    """A sentence about images that could not be read, with the first reasons; else nothing.

    >>> list(unreadable_warning(9, ["a.png: it is gone.", "b.png: it is empty."]))[0][20:]
    'could not be read and were left out: a.png: it is gone; b.png: it is empty.'
    """
    count = len(problems)
    if count:
        yield (
            f"{count} of {n_tried} images tried could not be read and "
            f"{either_form(count, 'was', 'were')} left out: {named_problems(problems)}"
        )


def named_problems(problems: Sequence[str]) -> str:
    """The first reasons why images could not be read, in one line; empty if there is none."""
    named = "; ".join(problem.rstrip(".") for problem in problems[:N_NAMED])
    return named + (", ..." if len(problems) > N_NAMED else "." if named else "")


def pixel_warnings(
    n_tried: int, n_constant: int, n_poor_range: int, pixel_range: PixelRange | None
) -> Iterator[str]:
    """Sentences about constant images, and about images that are nearly black or white.

    The range is the one by which images of more than 8 bits are scaled; None if none was fitted.

    >>> list(pixel_warnings(9, 2, 0, None))
    ['2 of 9 images tried have one value in all pixels: look at them, or leave them out.']
    """
    if n_constant:
        have, them = either_form(n_constant, "has", "have"), either_form(n_constant, "it", "them")
        yield (
            f"{n_constant} of {n_tried} images tried {have} one value in all pixels: look at "
            f"{them}, or leave {them} out."
        )
    if n_poor_range > FEW_POOR_RANGE * n_tried:
        scaled_by = (
            "as read: the labelled images have 8 bits, so that 65535 is white. Bring the pool to "
            "8 bits"
            if pixel_range is None
            else "by the range of the labelled images. Bring the pool to the same range of values"
        )
        yield (
            f"{n_poor_range} of {n_tried} images tried, of more than 8 bits, "
            f"{either_form(n_poor_range, 'is', 'are')} nearly black or white {scaled_by}."
        )
