"""Near copies within a pool, found by hash codes of the features.

The features of a large pool do not fit in memory. Each row is reduced to a code of 128 bits, which
say on which side of 128 fixed planes through the centre it lies. Two rows differ in a bit with
probability angle / pi, so that rows at a small angle differ in few bits. Codes are computed row by
row, in any order and on any worker; similar codes are searched when all are there.
"""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Mask, Rows
from mixmood.numerics.neighbours import unit_rows

N_WORDS = 2
N_BITS = 64 * N_WORDS
MOST_DIFFERENT_BITS = 3
"""None of 9.4 million pairs of different development images differs in as few bits. Features with
noise of 5 % of their mean differ in 1.1 bits on average; 96 to 98 % of them are found."""
N_BANDS = MOST_DIFFERENT_BITS + 1
MOST_IN_BAND = 64  # codes with an equal band that are compared with each other: limits the time

PART_BITS = 4
_ODD = np.uint64(0x9E3779B97F4A7C15)

HashCodes = NDArray[np.uint64]


def feature_codes(features: Array, centre: Array) -> HashCodes:
    """The code of each row, shape (n, 2); it depends on the row and the centre alone.

    The centre, shape (d,), is one of the pool, such as the mean of a sample. About the origin
    instead, most rows would lie on the same side of every plane.
    """
    width = features.shape[1]
    planes = np.random.default_rng([N_BITS, width]).normal(size=(width, N_BITS))
    bits = unit_rows(features, centre) @ planes > 0
    return np.ascontiguousarray(np.packbits(bits, axis=1)).view("<u8").astype(np.uint64)


def originals(codes: HashCodes, is_readable: Mask) -> tuple[Rows, Rows]:
    """The images that are copies of an earlier image, and the original of each.

    Near copies differ in at most 3 of 128 bits, so that at least one of the four bands of 32 bits
    is equal: only codes with an equal band are compared. A copy is never an original itself;
    otherwise a chain of small changes could join images that differ. Codes are in the order of the
    pool; images that are not readable do not count.
    """
    again, firsts = _equal_codes(codes, is_readable)
    # Of images with equal codes, only the first is compared with other codes.
    is_distinct = is_readable.copy()
    is_distinct[again] = False
    near = _near_originals(codes, is_distinct)
    # The first image with a code may itself be a near copy: its original is theirs too.
    of_equal = np.array([near.get(first, first) for first in firsts.tolist()], np.int64)
    rows = np.concatenate([again, np.array(list(near), np.int64)])
    return rows, np.concatenate([of_equal, np.array(list(near.values()), np.int64)])


def _sorted_parts(
    values: NDArray[np.unsignedinteger], is_used: Mask
) -> Iterator[tuple[Rows, NDArray[np.unsignedinteger]]]:
    """The used rows in the order of their values, and these values, part by part.

    Equal values are in one part, the earlier row first. Parts take a tenth of the memory.
    """
    parts = (values >> np.array(8 * values.itemsize - PART_BITS, values.dtype)).astype(np.uint8)
    for part in range(2**PART_BITS):
        rows = np.flatnonzero((parts == part) & is_used)
        order = rows[np.argsort(values[rows], kind="stable")]
        yield order, values[order]


def _equal_codes(codes: HashCodes, is_used: Mask) -> tuple[Rows, Rows]:
    """The rows whose code an earlier row has, and the first row with that code."""
    mixed = codes[:, 0] * _ODD ^ codes[:, 1]
    again, firsts = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for order, ascending in _sorted_parts(mixed, is_used):
        places = np.flatnonzero(ascending[1:] == ascending[:-1]) + 1
        is_start = np.diff(places, prepend=-1) != 1
        starts = (places - 1)[is_start][np.cumsum(is_start) - 1]
        rows, first = order[places], order[starts]
        is_equal = (codes[rows] == codes[first]).all(axis=1)
        again.append(rows[is_equal])
        firsts.append(first[is_equal])
    return np.concatenate(again), np.concatenate(firsts)


def _near_originals(codes: HashCodes, is_distinct: Mask) -> dict[int, int]:
    """The earliest original that each distinct code is near to; no entry if there is none."""
    earlier: defaultdict[int, set[int]] = defaultdict(set)
    bands = codes.view("<u4").reshape(len(codes), N_BANDS)
    for band in range(N_BANDS):
        for order, ascending in _sorted_parts(np.ascontiguousarray(bands[:, band]), is_distinct):
            for first, second in _near_pairs(order, ascending, codes):
                earlier[second].add(first)
    original_of: dict[int, int] = {}
    for row in sorted(earlier):
        if candidates := [other for other in earlier[row] if other not in original_of]:
            original_of[row] = min(candidates)
    return original_of


def _near_pairs(
    order: Rows, ascending: NDArray[np.unsignedinteger], codes: HashCodes
) -> list[tuple[int, int]]:
    """Pairs of rows, the earlier first, that are near copies and have an equal band."""
    found: list[tuple[int, int]] = []
    # Rows with an equal band are neighbours: each is compared with the next, the second next, ...
    for step in range(1, min(MOST_IN_BAND, len(order))):
        agrees = np.flatnonzero(ascending[step:] == ascending[:-step])
        if len(agrees) == 0:
            break
        first, second = order[agrees], order[agrees + step]
        different = np.bitwise_count(codes[first] ^ codes[second]).sum(axis=1)
        is_near = different <= MOST_DIFFERENT_BITS
        found += zip(first[is_near].tolist(), second[is_near].tolist(), strict=True)
    return found
