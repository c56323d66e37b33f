"""Features in, distances with their certainty out: all statistics of a ranking, and no files."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from mixmood.core.arrays import Array
from mixmood.core.errors import InputError, OptionError, ShapeError
from mixmood.core.records.ranking import Dissimilarity, NoiseFloor
from mixmood.core.seeds import rng_for
from mixmood.measures.histogram import Overflow
from mixmood.measures.registry import check_measures, check_sample_size
from mixmood.ranking.statistics.certainty import Certainty, chances_of_best, rank_intervals
from mixmood.ranking.statistics.distances import DrawnDistances, drawn_distances
from mixmood.ranking.statistics.draws import check_fits, labelled_pairs, subsets
from mixmood.ranking.statistics.jackknife import N_DRAWS, image_covariance, leave_out
from mixmood.ranking.statistics.permutation import holm, permutation_p
from mixmood.ranking.statistics.wilcoxon import wilcoxon_p

MIN_LABELLED = 8
N_PERMUTATIONS = 399


@dataclass(frozen=True)
class Plan:
    """How a ranking is drawn: the options that decide its numbers."""

    measures: tuple[str, ...] = ("cosine",)
    sample_size: int = 80
    n_draws: int = 30
    seed: int = 0
    paper: bool = False

    def __post_init__(self) -> None:
        """Refuse options that make no sense, before any image is read."""
        object.__setattr__(self, "measures", check_measures(self.measures))
        if not self.measures:
            raise OptionError("measures must name at least one measure; got none.")
        if self.sample_size < 1:
            raise OptionError(f"sample_size must be at least 1; got {self.sample_size}.")
        if self.n_draws < 2:
            raise OptionError(f"draws must be at least 2, to have a spread; got {self.n_draws}.")

    @property
    def overflow(self) -> Overflow:
        """What becomes of values outside the first sample's range."""
        return "drop" if self.paper else "count"

    def fit(self, n_labelled: int) -> "Plan":
        """The same plan with a sample size that so many labelled images allow."""
        if n_labelled < MIN_LABELLED:
            raise InputError(
                f"Ranking needs at least {MIN_LABELLED} labelled images; got {n_labelled}. "
                "Label a few more: with so few, every pool looks alike."
            )
        fitted = replace(self, sample_size=min(self.sample_size, n_labelled // 2))
        check_sample_size(fitted.sample_size, fitted.measures)
        return fitted


@dataclass(frozen=True)
class Scores:
    """What the statistics say of each pool; lists are in the order of the pools."""

    measures: list[dict[str, Dissimilarity]]
    chances_of_best: list[float]
    rank_intervals: list[tuple[int, int]]


def score(labelled: Array, pools: Mapping[str, Array], plan: Plan, jobs: int = 1) -> Scores:
    """Distances, p-values and intervals of every pool and measure; the first measure ranks.

    Args:
        labelled: Labelled features in random order, shape (n, d).
        pools: By name, the features of each pool in random order, shape (n_k, d).
        plan: A plan that fits the labelled set.
        jobs: Threads; they change nothing but the time.
    """
    check_widths(labelled, pools)
    drawn, certainty = measure(labelled, pools, plan, jobs)
    reach = certainty.intervals()
    with ThreadPoolExecutor(jobs) as threads:
        columns = threads.map(lambda name: _p_values(labelled, pools[name], plan, name), pools)
        p_values = np.stack(list(columns), axis=1)
    corrected = np.stack([holm(row) for row in p_values])
    measures = [
        {
            name: _dissimilarity(drawn, m, k, p_values[m, k], corrected[m, k], reach[m, k])
            for m, name in enumerate(plan.measures)
        }
        for k in range(len(pools))
    ]
    possible = certainty.possible(rng_for(plan.seed, "possible"))
    return Scores(
        measures,
        chances_of_best(possible).tolist(),
        [(int(low), int(high)) for low, high in rank_intervals(possible)],
    )


def check_widths(labelled: Array, pools: Mapping[str, Array]) -> None:
    """Refuse features that are not all of one width."""
    for name, pool in pools.items():
        if pool.shape[1] != labelled.shape[1]:
            raise ShapeError(
                f"All sets must have the same number of features; the labelled set has "
                f"{labelled.shape[1]} and '{name}' has {pool.shape[1]}. "
                "Extract them with the same backbone."
            )


def measure(
    labelled: Array, pools: Mapping[str, Array], plan: Plan, jobs: int = 1
) -> tuple[DrawnDistances, Certainty]:
    """The distances of all draws of a plan, and how sure their means are."""
    for name, pool in pools.items():
        check_fits(plan.sample_size, len(pool), name)
    # A few draws cannot tell their own noise: then others, of the same images, tell it.
    n_draws = max(plan.n_draws, N_DRAWS)
    pairs = labelled_pairs(
        len(labelled), plan.sample_size, n_draws, rng_for(plan.seed, "pairs"), plan.paper
    )
    rows = [
        subsets(len(pool), plan.sample_size, n_draws, rng_for(plan.seed, "subsets", name))
        for name, pool in pools.items()
    ]
    features = list(pools.values())
    drawn = drawn_distances(labelled, features, pairs, rows, plan.measures, plan.overflow, jobs)
    without = leave_out(
        labelled,
        features,
        pairs[:N_DRAWS],
        rows,
        plan.measures,
        rng_for(plan.seed, "groups"),
        [rng_for(plan.seed, "groups", name) for name in pools],
        plan.overflow,
        jobs,
    )
    own = drawn.first(plan.n_draws)
    images, freedom = image_covariance(without), without.shape[-1] - 1
    return own, Certainty.of(own.signed, drawn.signed, images, freedom)


def noise_floor(labelled: Array, plan: Plan) -> dict[str, NoiseFloor]:
    """By measure, the distance between disjoint parts of the labelled set.

    Three disjoint parts are needed where a pool needs two, so that a small labelled set is cut
    finer than the ranking's sample size; the floor is then a little high, never too low.
    """
    size = min(plan.sample_size, len(labelled) // 3)
    triples = subsets(len(labelled), 3 * size, plan.n_draws, rng_for(plan.seed, "floor"))
    drawn = drawn_distances(
        labelled,
        [labelled],
        triples[:, : 2 * size].reshape(-1, 2, size),
        [triples[:, 2 * size :]],
        plan.measures,
        plan.overflow,
    )
    floor = np.abs(drawn.signed[:, 0])
    return {
        name: NoiseFloor(
            distance=float(floor[m].mean()),
            spread=float(floor[m].std(ddof=1)),
            upper=float(np.quantile(floor[m], 0.95)),
            sample_size=size,
        )
        for m, name in enumerate(plan.measures)
    }


def _p_values(labelled: Array, pool: Array, plan: Plan, name: str) -> Array:
    """Permutation p-values of one pool, shape (measures,)."""
    # Twice the sample size is enough to tell what a draw can tell, and bounds the time.
    most = 2 * plan.sample_size
    return permutation_p(
        labelled[:most],
        pool[:most],
        plan.measures,
        N_PERMUTATIONS,
        rng_for(plan.seed, "permutation", name),
    )


def _dissimilarity(
    drawn: DrawnDistances,
    m: int,
    k: int,
    p_value: float,
    corrected: float,
    interval: Sequence[float],
) -> Dissimilarity:
    inter, intra = drawn.inter[m, k], drawn.intra[m]
    apart = np.abs(inter - intra)
    return Dissimilarity(
        distance=float(apart.mean()),
        spread=float(apart.std(ddof=1)),
        signed=float((inter - intra).mean()),
        p_wilcoxon=wilcoxon_p(inter, intra),
        p_permutation=float(p_value),
        p_holm=float(corrected),
        interval=(float(interval[0]), float(interval[1])),
        inter=tuple(inter.tolist()),
        intra=tuple(intra.tolist()),
    )
