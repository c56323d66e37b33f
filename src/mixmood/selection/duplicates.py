"""Copies: of labelled images, and of each other within a pool.

Within a pool of any size features cannot be kept. Each row leaves a code of 128 bits: on which side
of 128 fixed planes through the centre it lies. Rows at a small angle differ in few bits, each with
chance angle / pi. Codes are made row by row, in any order and on any worker; when all are there,
those near to each other are found at once.
"""

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.numerics.neighbours import unit_rows

N_WORDS = 2
N_BITS = 64 * N_WORDS
MOST_DIFFERENT_BITS = 3
"""No pair of 9.4 million of different development images has as few. Features with noise of 5 % of
their mean differ in 1.1 bits on average; 96 to 98 % of them are found."""
N_BANDS = MOST_DIFFERENT_BITS + 1
MOST_IN_BAND = 64
"""Different codes with one band in common that are compared with each other: bounds the time."""

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


def originals(codes: HashCodes, is_readable: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each image the index of the earlier image that it copies, or -1, shape (n,).

    Near copies differ in at most 3 of 128 bits, so that at least one of the four bands of 32 bits
    is equal: only codes with an equal band are compared. A copy is never an original itself, or a
    chain of small changes would drift away from its first image.

    Args:
        codes: Shape (n, 2), in the order of the pool.
        is_readable: Which images count, shape (n,).
    """
    found = np.full(len(codes), -1, np.int64)
    rows = np.flatnonzero(is_readable)
    if len(rows) == 0:
        return found
    firsts = rows[_first_of_equals(codes[rows])]
    found[rows] = firsts
    # From here on, every distinct code stands for the first image that has it.
    distinct = rows[firsts == rows]
    leaders = _leaders(codes[distinct])
    moved = np.flatnonzero(leaders != np.arange(len(leaders)))
    found[distinct[moved]] = distinct[leaders[moved]]
    # Equal codes follow their first one, which may have found an original itself.
    found[rows] = found[firsts]
    found[rows[found[rows] == rows]] = -1
    return found


def _first_of_equals(codes: HashCodes) -> NDArray[np.int64]:
    """For each row the first row with an equal code."""
    order = np.lexsort((codes[:, 1], codes[:, 0]))
    rises = codes[order]
    is_new = np.ones(len(order), bool)
    is_new[1:] = (rises[1:] != rises[:-1]).any(axis=1)
    # The sort is stable: the first of a run of equal codes is the earliest.
    starts = np.maximum.accumulate(np.where(is_new, np.arange(len(order)), 0))
    firsts = np.empty(len(order), np.int64)
    firsts[order] = order[starts]
    return firsts


def _leaders(codes: HashCodes) -> NDArray[np.int64]:
    """For each distinct code the earliest code that it is near to, itself if there is none."""
    earlier: defaultdict[int, set[int]] = defaultdict(set)
    bands = codes.view("<u4").reshape(len(codes), N_BANDS)
    for band in range(N_BANDS):
        for first, second in _pairs(bands[:, band], codes):
            earlier[second].add(first)
    leaders = np.arange(len(codes))
    for row in sorted(earlier):
        heads = [other for other in sorted(earlier[row]) if leaders[other] == other]
        if heads:
            leaders[row] = heads[0]
    return leaders


def _pairs(band: NDArray[np.uint32], codes: HashCodes) -> list[tuple[int, int]]:
    """Pairs of rows, the earlier first, that agree in a band and are near copies."""
    order = np.argsort(band, kind="stable")
    same = band[order]
    found: list[tuple[int, int]] = []
    # Rows that agree stand side by side: each is compared with the next, the one after it, ...
    for step in range(1, min(MOST_IN_BAND, len(codes))):
        agrees = np.flatnonzero(same[step:] == same[:-step])
        if len(agrees) == 0:
            break
        first, second = order[agrees], order[agrees + step]
        different = np.bitwise_count(codes[first] ^ codes[second]).sum(axis=1)
        is_near = different <= MOST_DIFFERENT_BITS
        found += zip(first[is_near].tolist(), second[is_near].tolist(), strict=True)
    return found
