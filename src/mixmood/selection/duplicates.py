"""Copies: of labelled images, and of each other within a pool.

Within a pool of any size features cannot be kept. Each row leaves a code of 128 bits: on which side
of 128 fixed planes through the centre it lies. Rows at a small angle differ in few bits, each with
chance angle / pi. Codes are made row by row, in any order and on any worker; when all are there,
those near to each other are found at once.
"""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Rows
from mixmood.numerics.neighbours import unit_rows

N_WORDS = 2
N_BITS = 64 * N_WORDS
MOST_DIFFERENT_BITS = 3
"""No pair of 9.4 million of different development images has as few. Features with noise of 5 % of
their mean differ in 1.1 bits on average; 96 to 98 % of them are found."""
N_BANDS = MOST_DIFFERENT_BITS + 1
MOST_IN_BAND = 64
"""Different codes with one band in common that are compared with each other: bounds the time."""

PART_BITS = 4
_ODD = np.uint64(0x9E3779B97F4A7C15)

HashCodes = NDArray[np.uint64]


def feature_codes(features: Array, centre: Array) -> HashCodes:
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


def originals(codes: HashCodes, is_readable: NDArray[np.bool_]) -> tuple[Rows, Rows]:
    """The images that copy an earlier one, and which image each of them copies.

    Near copies differ in at most 3 of 128 bits, so that at least one of the four bands of 32 bits
    is equal: only codes with an equal band are compared. A copy is never an original itself, or a
    chain of small changes would drift away from its first image.

    Args:
        codes: Shape (n, 2), in the order of the pool.
        is_readable: Which images count, shape (n,).
    """
    again, firsts = _equal_codes(codes, is_readable)
    # From here on, every distinct code stands for the first image that has it.
    is_distinct = is_readable.copy()
    is_distinct[again] = False
    near = _leaders(codes, is_distinct)
    # Equal codes follow their first one, which may have found an original itself.
    followed = np.array([near.get(first, first) for first in firsts.tolist()], np.int64)
    rows = np.concatenate([again, np.array(list(near), np.int64)])
    return rows, np.concatenate([followed, np.array(list(near.values()), np.int64)])


def _sorted_parts(
    values: NDArray[np.unsignedinteger], is_used: NDArray[np.bool_]
) -> Iterator[tuple[Rows, NDArray[np.unsignedinteger]]]:
    """The rows that are used in the order of their values, part by part, and those values.

    Equal values are in the same part, the earlier row first. Sorted in parts, ten million rows
    take a tenth of the memory.
    """
    parts = (values >> np.array(8 * values.itemsize - PART_BITS, values.dtype)).astype(np.uint8)
    for part in range(2**PART_BITS):
        rows = np.flatnonzero((parts == part) & is_used)
        order = rows[np.argsort(values[rows], kind="stable")]
        yield order, values[order]


def _equal_codes(codes: HashCodes, is_used: NDArray[np.bool_]) -> tuple[Rows, Rows]:
    """The rows whose code was there before, and the first row that has it."""
    mixed = codes[:, 0] * _ODD ^ codes[:, 1]
    again, firsts = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for order, rises in _sorted_parts(mixed, is_used):
        places = np.flatnonzero(rises[1:] == rises[:-1]) + 1
        is_start = np.diff(places, prepend=-1) != 1
        starts = (places - 1)[is_start][np.cumsum(is_start) - 1]
        rows, first = order[places], order[starts]
        is_equal = (codes[rows] == codes[first]).all(axis=1)
        again.append(rows[is_equal])
        firsts.append(first[is_equal])
    return np.concatenate(again), np.concatenate(firsts)


def _leaders(codes: HashCodes, is_distinct: NDArray[np.bool_]) -> dict[int, int]:
    """The earliest code that each distinct code is near to, for those that are near to one."""
    earlier: defaultdict[int, set[int]] = defaultdict(set)
    bands = codes.view("<u4").reshape(len(codes), N_BANDS)
    for band in range(N_BANDS):
        for order, rises in _sorted_parts(np.ascontiguousarray(bands[:, band]), is_distinct):
            for first, second in _pairs(order, rises, codes):
                earlier[second].add(first)
    leaders: dict[int, int] = {}
    for row in sorted(earlier):
        heads = [other for other in sorted(earlier[row]) if other not in leaders]
        if heads:
            leaders[row] = heads[0]
    return leaders


def _pairs(
    order: Rows, rises: NDArray[np.unsignedinteger], codes: HashCodes
) -> list[tuple[int, int]]:
    """Pairs of rows, the earlier first, that agree in a band and are near copies."""
    found: list[tuple[int, int]] = []
    # Rows that agree stand side by side: each is compared with the next, the one after it, ...
    for step in range(1, min(MOST_IN_BAND, len(order))):
        agrees = np.flatnonzero(rises[step:] == rises[:-step])
        if len(agrees) == 0:
            break
        first, second = order[agrees], order[agrees + step]
        different = np.bitwise_count(codes[first] ^ codes[second]).sum(axis=1)
        is_near = different <= MOST_DIFFERENT_BITS
        found += zip(first[is_near].tolist(), second[is_near].tolist(), strict=True)
    return found
