"""Copies: of labelled images, and of each other within a pool.

Within a pool of any size features cannot be kept. Each row leaves a code of 128 bits: on which side
of 128 fixed planes through the centre it lies. Rows at a small angle differ in few bits, each with
chance angle / pi. Codes are made row by row, in any order and on any worker; a finder then goes
through them in the order of the pool and remembers a bounded number of them.
"""

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.numerics.neighbours import unit_rows
from mixmood.scores.nearest import nearest_labelled

COPY_COSINE = 0.985
"""Of 9.4 million pairs of different development images none has more than 0.977."""
N_WORDS = 2
N_BITS = 64 * N_WORDS
MOST_DIFFERENT_BITS = 3
"""No pair of 9.4 million of different development images has as few. Features with noise of 5 % of
their mean differ in 1.1 bits on average; 96 to 98 % of them are found."""
N_BANDS = MOST_DIFFERENT_BITS + 1
MOST_REMEMBERED = 500_000
TABLE_BITS = 21
TABLE_SIZE = 2**TABLE_BITS

Codes = NDArray[np.uint64]


def copies_of_labelled(labelled: Array, features: Array) -> NDArray[np.int64]:
    """For each row the labelled image that it is a copy of, or -1, shape (n,)."""
    nearest = nearest_labelled(labelled, features)
    is_copy = nearest.similarities[:, 0] >= COPY_COSINE
    return np.asarray(np.where(is_copy, nearest.indices[:, 0], -1))


def feature_codes(features: Array, centre: Array) -> Codes:
    """The code of each row, shape (n, 2); it depends on the row and the centre alone.

    Args:
        features: Shape (n, d).
        centre: Such as the mean of a sample of the pool, shape (d,), without which most rows lie on
            the same side of every plane.
    """
    planes = np.random.default_rng([N_BITS, features.shape[1]]).normal(
        size=(features.shape[1], N_BITS)
    )
    bits = unit_rows(features, centre) @ planes > 0
    return np.ascontiguousarray(np.packbits(bits, axis=1)).view("<u8").astype(np.uint64)


class DuplicateFinder:
    """Finds near copies in a stream of codes; the first of them is the original.

    Near copies differ in at most 3 of 128 bits, so that one of four bands of 32 bits is equal. Each
    band of a code points, through a table of fixed size, to the last code that had it there. Memory
    does not grow with the stream: at most 12 MB of codes, of which the oldest are overwritten, and
    32 MB of tables. In a table another code may take the place, with chance 0.21 at most; an
    exact copy within the last 500,000 images is thus missed with chance 0.21^4 = 0.002 at most.
    """

    def __init__(self, most_remembered: int = MOST_REMEMBERED) -> None:
        """Start with nothing remembered."""
        self._n_seen = 0
        # Views give plain integers, several times as fast as elements of arrays.
        self._codes = np.zeros(2 * most_remembered, np.uint64).data
        self._indices = np.zeros(most_remembered, np.int64).data
        self._tables = [np.zeros(TABLE_SIZE, np.int32).data for _ in range(N_BANDS)]

    def originals(self, codes: Codes, first_index: int) -> NDArray[np.int64]:
        """For each code the index of the earlier image that it copies, or -1, shape (n,).

        Args:
            codes: Shape (n, 2), of images first_index, first_index + 1, ...
            first_index: The index of the first.
        """
        found = np.full(len(codes), -1, np.int64)
        places = _places(codes).tolist()
        for row, (code, row_places) in enumerate(zip(codes.tolist(), places, strict=True)):
            found[row] = self._original(code, row_places)
            # Copies are not remembered: a chain of small changes would drift from its original.
            if found[row] < 0:
                self._remember(first_index + row, code, row_places)
        return found

    def _original(self, code: list[int], places: list[int]) -> int:
        best = -1
        for table, place in zip(self._tables, places, strict=True):
            slot = table[place] - 1
            if slot < 0:
                continue
            a, b = self._codes[2 * slot], self._codes[2 * slot + 1]
            if (code[0] ^ a).bit_count() + (code[1] ^ b).bit_count() <= MOST_DIFFERENT_BITS:
                index = self._indices[slot]
                best = index if best < 0 else min(best, index)
        return best

    def _remember(self, index: int, code: list[int], places: list[int]) -> None:
        slot = self._n_seen % len(self._indices)
        self._n_seen += 1
        self._codes[2 * slot], self._codes[2 * slot + 1] = code
        self._indices[slot] = index
        for table, place in zip(self._tables, places, strict=True):
            table[place] = slot + 1


def _places(codes: Codes) -> NDArray[np.uint64]:
    """Where each band of each code points in its table, shape (n, 4)."""
    half = np.uint64(32)
    low = np.uint64(2**32 - 1)
    bands = np.stack(
        [codes[:, 0] & low, codes[:, 0] >> half, codes[:, 1] & low, codes[:, 1] >> half]
    )
    # The upper bits of a product with an odd number depend on all bits of the band.
    mixed = (bands * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - TABLE_BITS)
    return np.ascontiguousarray(mixed.T)
