"""Copies: of labelled images, and of each other within a pool.

Within a pool of any size features cannot be kept. Each row leaves a code of 128 bits: on which side
of 128 fixed planes through the centre it lies. Rows at a small angle differ in few bits, each with
chance angle / pi. Codes are made row by row, in any order and on any worker; a finder then goes
through them in the order of the pool and remembers a bounded number of them.
"""

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.numerics.neighbours import unit_rows
from mixmood.scores.nearest import nearest_labelled

COPY_COSINE = 0.995
"""On development images, the share of pairs of different images above it is below 1 in 10,000."""
N_WORDS = 2
N_BITS = 64 * N_WORDS
MOST_DIFFERENT_BITS = 3
"""Different bits of near copies; a cosine of 0.995 to the centre differs in 4 on average."""
N_BANDS = MOST_DIFFERENT_BITS + 1
MOST_REMEMBERED = 1_000_000

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

    Near copies differ in at most 3 of 128 bits, so that one of four bands of 32 bits is equal: only
    codes that share a band are compared. When it remembers its limit, the oldest code is forgotten.
    """

    def __init__(self, most_remembered: int = MOST_REMEMBERED) -> None:
        """Start with nothing remembered."""
        self._limit = most_remembered
        self._codes: OrderedDict[int, tuple[int, int]] = OrderedDict()
        self._bands: list[dict[int, list[int]]] = [{} for _ in range(N_BANDS)]

    def originals(self, codes: Codes, first_index: int) -> NDArray[np.int64]:
        """For each code the index of the earlier image that it copies, or -1, shape (n,).

        Args:
            codes: Shape (n, 2), of images first_index, first_index + 1, ...
            first_index: The index of the first.
        """
        found = np.full(len(codes), -1, np.int64)
        for row, (a, b) in enumerate(codes.tolist()):
            found[row] = self._original((a, b))
            # Copies are not remembered: a chain of small changes would drift from its original.
            if found[row] < 0:
                self._remember(first_index + row, (a, b))
        return found

    def _original(self, code: tuple[int, int]) -> int:
        seen = {
            i for band, key in zip(self._bands, _keys(code), strict=True) for i in band.get(key, ())
        }
        near = [i for i in seen if _n_different(code, self._codes[i]) <= MOST_DIFFERENT_BITS]
        return min(near, default=-1)

    def _remember(self, index: int, code: tuple[int, int]) -> None:
        self._codes[index] = code
        for band, key in zip(self._bands, _keys(code), strict=True):
            band.setdefault(key, []).append(index)
        if len(self._codes) > self._limit:
            oldest, old_code = self._codes.popitem(last=False)
            for band, key in zip(self._bands, _keys(old_code), strict=True):
                band[key].remove(oldest)
                if not band[key]:
                    del band[key]


def _keys(code: tuple[int, int]) -> list[int]:
    low = (1 << 32) - 1
    return [code[0] & low, code[0] >> 32, code[1] & low, code[1] >> 32]


def _n_different(a: tuple[int, int], b: tuple[int, int]) -> int:
    return (a[0] ^ b[0]).bit_count() + (a[1] ^ b[1]).bit_count()
