"""How much distances depend on the images that were read: a jackknife over groups of images.

The draws of a ranking come from the same finite sets, so their spread does not show how distances
would vary with other images. Here a twentieth of the labelled and of each pool's images is left
out of the same draws, twenty times. Rows are left out, never repeated: a repeated image would be
its own nearest neighbour.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from mixmood.core.arrays import Array, Rows
from mixmood.measures.batch import Grouped, left_out_distances
from mixmood.measures.histogram import Overflow

N_GROUPS = 20
N_DRAWS = 30
"""Draws from which groups are left out."""


def leave_out(
    labelled: Array,
    pools: Sequence[Array],
    labelled_rows: Rows,
    pool_rows: Sequence[Rows],
    names: Sequence[str],
    rng: np.random.Generator,
    pool_rngs: Sequence[np.random.Generator],
    overflow: Overflow = "count",
    jobs: int = 1,
) -> Array:
    """Inter minus intra distance without each group, shape (measures, pools, draws, groups).

    Each pool has its own generator, so that a further pool does not change the other results.

    Args:
        labelled: Labelled features, shape (n, d).
        pools: Features of each pool, shape (n_k, d).
        labelled_rows: Rows of the two labelled sub-samples of each draw, shape (draws, 2, size).
        pool_rows: For each pool, the rows of each draw, shape (draws, size).
        names: Names of the measures.
        rng: Assigns the labelled images to groups.
        pool_rngs: Assign the images of each pool to groups.
        overflow: How values are counted that lie outside the first sample's range.
        jobs: Threads; they change only the time.
    """
    n_groups = min(N_GROUPS, len(labelled))
    groups = rng.permutation(len(labelled)) % n_groups
    pool_groups = [
        pool_rng.permutation(len(pool)) % n_groups
        for pool, pool_rng in zip(pools, pool_rngs, strict=True)
    ]

    def without(draw: int) -> Array:
        first, second = (Grouped(labelled[rows], groups[rows]) for rows in labelled_rows[draw])
        others = [
            Grouped(pool[rows[draw]], own[rows[draw]])
            for pool, rows, own in zip(pools, pool_rows, pool_groups, strict=True)
        ]
        return left_out_distances(first, [second, *others], n_groups, names, overflow)

    with ThreadPoolExecutor(jobs) as threads:
        tables = np.stack(list(threads.map(without, range(len(labelled_rows)))), axis=2)
    return np.asarray(tables[:, 1:] - tables[:, :1])


def image_covariance(without: Array) -> Array:
    """The part of the covariance of distances that is due to the images: (measures, pools, pools).

    It is the jackknife's covariance between different draws. Two draws share nothing but their
    images, so their covariance is free of the noise of drawing. The covariance of a draw with
    itself contains that noise, and the jackknife overestimates it. A variance is computed here as
    a difference and may come out below 0; it is then set to 0.

    Args:
        without: Inter minus intra without each group, shape (measures, pools, draws, groups).
    """
    n_draws, n_groups = without.shape[2:]
    moves = without - without.mean(axis=-1, keepdims=True)
    sums = moves.sum(axis=2)
    of_all = np.einsum("mkg,mlg->mkl", sums, sums)
    of_each = np.einsum("mkng,mlng->mkl", moves, moves)
    between = (of_all - of_each) / (n_draws * (n_draws - 1)) * (n_groups - 1) / n_groups
    own = np.einsum("mkk->mk", between)  # a view of the diagonals
    np.maximum(own, 0.0, out=own)
    return np.asarray(between)
