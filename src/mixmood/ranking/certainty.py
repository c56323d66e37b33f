"""How much distances would vary with other images: intervals, chances and ranks."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from mixmood.core.arrays import Array, Rows
from mixmood.measures.batch import Grouped, left_out_distances
from mixmood.measures.histogram import Overflow

N_GROUPS = 20
N_DRAWS = 30  # draws from which groups are left out


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

    The first five are those of `drawn_distances`. Each pool has its own generator, so that a
    further pool does not change the other results.
    """
    n_groups = min(N_GROUPS, len(labelled))
    sets = [labelled, *pools]
    groups = [
        own.permutation(len(images)) % n_groups
        for own, images in zip((rng, *pool_rngs), sets, strict=True)
    ]

    def without(draw: int) -> Array:
        drawn = [(0, rows) for rows in labelled_rows[draw]]
        drawn += [(k, rows[draw]) for k, rows in enumerate(pool_rows, 1)]
        first, *others = (Grouped(sets[k][rows], groups[k][rows]) for k, rows in drawn)
        return left_out_distances(first, others, n_groups, names, overflow)

    with ThreadPoolExecutor(jobs) as threads:
        tables = np.stack(list(threads.map(without, range(len(labelled_rows)))), axis=2)
    return np.asarray(tables[:, 1:] - tables[:, :1])


def image_covariance(without: Array) -> Array:
    """The part of the covariance of distances that is due to the images: (measures, pools, pools).

    From the result of `leave_out`: the jackknife's covariance between different draws, which share
    nothing but their images. The covariance of a draw with itself contains the noise of drawing,
    and the jackknife overestimates it. A variance that comes out below 0 is set to 0.
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
N_POSSIBLE = 4000  # simulated tables of distances, from which chances and ranks are counted


@dataclass(frozen=True)
class Certainty:
    """Distances, shape (measures, pools), and how much they would vary with other images."""

    distances: Array
    below: Array  # how far the 95 % interval reaches down, and up; the same shape
    above: Array
    covariance: Array  # how distances vary together, shape (measures, pools, pools)
    freedom: int  # degrees of freedom of the covariance

    @classmethod
    def of(cls, signed: Array, all_signed: Array, images: Array, freedom: int) -> "Certainty":
        """The certainty from the draws and from the `image_covariance`.

        The variance of a mean of C draws is that which is due to the images, plus 1/C of the
        variance of a single draw, the noise of drawing. `signed` is inter minus intra of each draw,
        shape (measures, pools, C); `all_signed` has further draws, enough to estimate the noise.
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
    hardly changes it, and a large move in either direction makes it larger. The slope has the sign
    of the draws.
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


@dataclass(frozen=True)
class Place:
    """A pool's place in an order; `rank_interval` has 95 % probability."""

    rank: int
    p_best: float
    rank_interval: tuple[int, int]


def places(values: Mapping[str, float], possible: Array) -> dict[str, Place]:
    """The place of each pool: the smallest value is first; `possible` are simulated, (pools, n)."""
    order = sorted(values, key=lambda name: (values[name], name))
    chances, ranks = chances_of_best(possible).tolist(), rank_intervals(possible).tolist()
    return {
        name: Place(order.index(name) + 1, chance, (low, high))
        for name, chance, (low, high) in zip(values, chances, ranks, strict=True)
    }


def chances_of_best(possible: Array) -> Array:
    """How often each pool has the smallest value, shape (pools,); ties share."""
    is_nearest = possible == possible.min(axis=0)
    return np.asarray((is_nearest / is_nearest.sum(axis=0)).mean(axis=1))


def rank_intervals(possible: Array) -> Array:
    """The ranks that each pool takes in 95 % of the tables, shape (pools, 2)."""
    ranks = []
    for own in possible:
        first = (possible < own).sum(axis=0) + 1
        last = (possible <= own).sum(axis=0)  # they differ where there are ties
        low = np.quantile(first, 0.025, method="lower")
        ranks.append((low, np.quantile(last, 0.975, method="higher")))
    return np.array(ranks, int)
