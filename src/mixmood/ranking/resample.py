"""How far a distance would move with other images: delete-a-third resampling of both sets.

The draws of a ranking come from the same finite sets, so that their spread says nothing of what
other images would have given. Here a third of the labelled and of each pool's images is left out,
again and again; the scatter of the distances, scaled, is their standard error. Rows are left out,
never repeated: a repeated image would be its own nearest neighbour.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mixmood.core.arrays import Array, Rows
from mixmood.measures.histogram import Overflow
from mixmood.ranking.distances import drawn_distances

KEPT_SHARE = 2 / 3
N_DRAWS = 2  # per replicate: the least that lets the noise of drawing be told from that of images
Z_95 = 1.959964


@dataclass(frozen=True)
class Replicates:
    """Distances of every replicate, shape (measures, pools, replicates, draws)."""

    distances: Array

    def standard_errors(self, n_draws: int) -> Array:
        """The standard error of a mean of n_draws distances, shape (measures, pools).

        Leaving out a share 1 - f of n rows scatters a mean by sqrt((1 - f) / f) times its
        standard error; the noise of drawing, which the replicates also hold, is taken out first.
        """
        noise = self.distances.var(axis=-1, ddof=1).mean(axis=-1)
        scatter = self.distances.mean(axis=-1).var(axis=-1, ddof=1)
        # The difference of two estimates can fall below zero by chance; an error of nothing cannot.
        of_images = np.maximum(scatter - noise / N_DRAWS, 0.05 * scatter)
        return np.asarray(np.sqrt(of_images * KEPT_SHARE / (1 - KEPT_SHARE) + noise / n_draws))

    def possible(self, distances: Array, n_draws: int) -> Array:
        """Distances as they could have come out, shape (measures, pools, replicates).

        The replicates' scatter, with all its dependence between pools, moved to the distances
        measured and brought to their standard errors.
        """
        means = self.distances.mean(axis=-1)
        scatter = means - means.mean(axis=-1, keepdims=True)
        width = means.std(axis=-1, ddof=1)
        factor = self.standard_errors(n_draws) / np.where(width > 0, width, 1.0)
        return np.asarray(distances[..., None] + factor[..., None] * scatter)


def resample(
    labelled: Array,
    pools: Sequence[Array],
    sample_size: int,
    n_replicates: int,
    names: Sequence[str],
    rng: np.random.Generator,
    pool_rngs: Sequence[np.random.Generator],
    overflow: Overflow = "count",
    jobs: int = 1,
) -> Replicates:
    """Distances with a third of all images left out, n_replicates times.

    Each pool has its own generator, so that a further pool does not move the others' numbers.
    """
    size = min(sample_size, int(len(labelled) * KEPT_SHARE) // 2)
    pairs = _draws_of_kept(len(labelled), 2 * size, n_replicates, rng).reshape(-1, 2, size)
    rows = [
        _draws_of_kept(len(pool), size, n_replicates, pool_rng)
        for pool, pool_rng in zip(pools, pool_rngs, strict=True)
    ]
    drawn = drawn_distances(labelled, pools, pairs, rows, names, overflow, jobs)
    shape = (len(names), len(pools), n_replicates, N_DRAWS)
    return Replicates(np.abs(drawn.signed).reshape(shape))


def _draws_of_kept(n: int, size: int, n_replicates: int, rng: np.random.Generator) -> Rows:
    """Rows of the draws of all replicates, shape (n_replicates * N_DRAWS, size).

    The draws of a replicate are independent: cut from one shuffle they would lean against each
    other, and their spread would overstate the noise of drawing.
    """
    n_kept = max(int(n * KEPT_SHARE), 1)
    kept = (rng.permutation(n)[:n_kept] for _ in range(n_replicates))
    return np.stack([rng.permutation(rows)[:size] for rows in kept for _ in range(N_DRAWS)])


def intervals(distances: Array, standard_errors: Array) -> Array:
    """95 % intervals, shape (..., 2); a distance is never below 0."""
    reach = Z_95 * standard_errors
    return np.stack([np.maximum(distances - reach, 0.0), distances + reach], axis=-1)


def chances_of_best(possible: Array) -> Array:
    """How often each pool comes out nearest, shape (pools,); ties share. `possible`: (pools, n)."""
    is_nearest = possible == possible.min(axis=0)
    return np.asarray((is_nearest / is_nearest.sum(axis=0)).mean(axis=1))


def rank_intervals(possible: Array) -> Array:
    """The ranks that 95 % of the replicates give each pool, shape (pools, 2). 1 is nearest."""
    below = (possible[None, :, :] < possible[:, None, :]).sum(axis=1)
    ties = (possible[None, :, :] == possible[:, None, :]).sum(axis=1)
    low = np.quantile(below + 1, 0.025, axis=1, method="lower")
    high = np.quantile(below + ties, 0.975, axis=1, method="higher")
    return np.stack([low, high], axis=1).astype(int)
