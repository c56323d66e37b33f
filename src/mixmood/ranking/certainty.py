"""How much distances would vary with other images: intervals, chances and ranks."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

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

    Features, rows and names are those of `drawn_distances`. The labelled images are assigned to
    groups by `rng`. Each pool has its own generator in `pool_rngs`, so that a further pool does not
    change the other results.
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
    a difference and may come out below 0; it is then set to 0. `without` is that of `leave_out`.
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


WIDTH = 1.96
"""Standard errors to either side in 95 % intervals. Student's quantile would be wider, but the
jackknife's errors are too large already, because it counts effects of pairs of images twice."""
N_POSSIBLE = 4000
"""Simulated tables of distances, from which chances and ranks are counted."""


@dataclass(frozen=True)
class Certainty:
    """Distances, shape (measures, pools), and how much they would vary with other images.

    `below` and `above` have the same shape: how far the 95 % interval reaches to either side.
    `covariance`, shape (measures, pools, pools), says how distances vary together, and has
    `freedom` degrees of freedom.
    """

    distances: Array
    below: Array
    above: Array
    covariance: Array
    freedom: int

    @classmethod
    def of(cls, signed: Array, all_signed: Array, images: Array, freedom: int) -> "Certainty":
        """The certainty from the draws and from the covariance that is due to the images.

        The variance of a mean of C draws has two parts: the covariance between draws, which is
        due to the images, and 1/C of the variance of a single draw, the noise of drawing.

        Args:
            signed: Inter minus intra of each draw, shape (measures, pools, C).
            all_signed: The same with further draws, enough to estimate the noise of drawing.
            images: The covariance between draws, shape (measures, pools, pools).
            freedom: Degrees of freedom of `images`.
        """
        sizes = np.abs(all_signed) - np.abs(all_signed).mean(axis=-1, keepdims=True)
        noise = sizes @ sizes.mT / (all_signed.shape[-1] - 1) / signed.shape[-1]
        reach = WIDTH * np.sqrt(np.diagonal(images, axis1=1, axis2=2))
        below, above, slopes = _changes(all_signed, reach)
        of_noise = WIDTH * np.sqrt(np.diagonal(noise, axis1=1, axis2=2))
        return cls(
            distances=np.abs(signed).mean(axis=-1),
            below=np.hypot(below, of_noise),
            above=np.hypot(above, of_noise),
            covariance=slopes[:, :, None] * slopes[:, None, :] * images + noise,
            freedom=freedom,
        )

    def intervals(self) -> Array:
        """95 % intervals, shape (measures, pools, 2); never below 0."""
        low = np.maximum(self.distances - self.below, 0.0)
        return np.stack([low, self.distances + self.above], axis=-1)

    def possible(self, measure: int, rng: np.random.Generator) -> Array:
        """Simulated distances by a measure, shape (pools, N_POSSIBLE)."""
        values, vectors = np.linalg.eigh(self.covariance[measure])
        axes = vectors * np.sqrt(np.maximum(values, 0.0))
        moves = axes @ rng.standard_normal((len(values), N_POSSIBLE))
        # Dividing all pools of a table by the same number turns normal values into Student's t.
        scale = np.sqrt(rng.chisquare(self.freedom, N_POSSIBLE) / self.freedom)
        return np.asarray(self.distances[measure][:, None] + moves / scale)


def _changes(signed: Array, reach: Array) -> tuple[Array, Array, Array]:
    """How much a distance falls and rises when all draws move by `reach`, and its slope.

    A distance is a mean of absolute values. Where half of the draws are negative, a small move
    hardly changes it, and a large move in either direction makes it larger. The slope is the
    change of the distance by the move of the draws, with the sign of the draws. The draws of each
    measure and pool move together.
    """
    means = signed.mean(axis=-1)
    side = np.where(means < 0, -1.0, 1.0)
    outward = signed * side[..., None]
    now = np.abs(signed).mean(axis=-1)
    inward = np.minimum(reach, np.abs(means))  # beyond 0 it would get larger again
    below = now - np.abs(outward - inward[..., None]).mean(axis=-1)
    above = np.abs(outward + reach[..., None]).mean(axis=-1) - now
    moved = np.sqrt((below**2 + above**2) / 2)
    slopes = np.divide(moved, reach, out=np.ones_like(moved), where=reach > 0)
    return below, above, side * slopes


def chances_of_best(possible: Array) -> Array:
    """How often each pool is the nearest, shape (pools,); ties share. `possible`: (pools, n)."""
    is_nearest = possible == possible.min(axis=0)
    return np.asarray((is_nearest / is_nearest.sum(axis=0)).mean(axis=1))


def rank_intervals(possible: Array) -> Array:
    """The ranks that each pool takes in 95 % of the tables, shape (pools, 2). 1 is nearest."""
    ranks = []
    for own in possible:
        first = (possible < own).sum(axis=0) + 1
        last = (possible <= own).sum(axis=0)  # they differ where there are ties
        low = np.quantile(first, 0.025, method="lower")
        ranks.append((low, np.quantile(last, 0.975, method="higher")))
    return np.array(ranks, int)
