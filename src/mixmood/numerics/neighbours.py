"""Nearest neighbours by cosine similarity, computed in blocks, and near copies of images."""

from dataclasses import dataclass

import numpy as np

from mixmood.core.arrays import Array, Codes, Mask

BLOCK_ENTRIES = 4_000_000  # similarities in memory at once, however large the two sets are


@dataclass(frozen=True)
class Neighbours:
    """The k most similar references of each query, the most similar first."""

    indices: Codes  # of references, shape (n, k); of equal ones the lower is first
    similarities: Array  # cosines, shape (n, k)


def unit_rows(features: Array, centre: Array | None = None) -> Array:
    """Rows scaled to length 1, after subtracting the centre; a row of zeros stays.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    moved = features if centre is None else features - centre
    lengths = np.sqrt(np.einsum("ij,ij->i", moved, moved, dtype=np.float64))[:, None]
    return np.asarray(moved / np.where(lengths > 0, lengths, 1.0).astype(moved.dtype))


def cosine_neighbours(queries: Array, references: Array | None, n_neighbours: int) -> Neighbours:
    """The references, shape (m, d), that are most similar to each query, shape (n, d).

    Without references they are the other queries. If there are fewer of them, all are neighbours.
    """
    within = references is None
    others = queries if references is None else references
    k = min(n_neighbours, len(others) - within)
    units = unit_rows(others)
    indices = np.empty((len(queries), max(k, 0)), np.int64)
    similarities = np.empty(indices.shape, units.dtype)
    step = max(1, BLOCK_ENTRIES // max(len(others), 1))
    for first in range(0, len(queries) if k > 0 else 0, step):
        block = slice(first, min(first + step, len(queries)))
        rows = units[block] if within else unit_rows(queries[block])
        cosines = rows @ units.T
        if within:
            cosines[np.arange(len(cosines)), np.arange(block.start, block.stop)] = -np.inf
        indices[block], similarities[block] = _largest(cosines, k)
    return Neighbours(indices, similarities)


def _largest(values: Array, k: int) -> tuple[Codes, Array]:
    """Columns and values of the k largest of each row, the largest first, ties by column."""
    threshold = -np.partition(-values, k - 1, axis=1)[:, k - 1 : k]
    # argpartition would choose arbitrarily among equal values.
    is_above, is_equal = values > threshold, values == threshold
    missing = k - is_above.sum(axis=1, keepdims=True)
    is_kept = is_above | (is_equal & (np.cumsum(is_equal, axis=1) <= missing))
    columns = np.nonzero(is_kept)[1].reshape(len(values), k)
    kept = np.take_along_axis(values, columns, axis=1)
    order = np.argsort(-kept, axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1), np.take_along_axis(kept, order, axis=1)


COPY_COSINE = 0.985  # of 9.4 million pairs of different development images none is above 0.977
TIMES_AS_NEAR = 10
EQUAL_COSINE = 0.99999  # the cosine of rows in single precision that are equal but for rounding
MOST_COMPARED = 500  # images of a set that are compared; it bounds the time


def copy_cosine(labelled: Array) -> float:
    """An image with at least this cosine to a labelled image is a copy; unit rows (n, d), n > 1.

    Features of other backbones may all lie in a narrow cone, where different images have cosines
    above 0.985 too. So a copy must be ten times as near as labelled images are to their neighbours.
    """
    n = len(labelled)  # evenly spaced, since images are often in the order of their classes
    sample = labelled[np.linspace(0, n - 1, min(n, MOST_COMPARED)).astype(int)]
    typical = float(np.median(cosine_neighbours(sample, None, 1).similarities[:, 0]))
    # Bounded, so that a cosine of 1 is a copy even where half of the labelled images are copies.
    return min(max(COPY_COSINE, 1 - (1 - typical) / TIMES_AS_NEAR), EQUAL_COSINE)


def near_copies(features: Array, labelled: Array) -> Mask:
    """Which images, shape (n, d), are near copies of labelled ones, (m, d), m > 1; shape (n,)."""
    units = unit_rows(labelled)
    nearest = cosine_neighbours(features, units, 1).similarities[:, 0]
    return np.asarray(nearest >= copy_cosine(units))
