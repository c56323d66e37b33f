"""All statistics of a ranking: features in, distances with their certainty out."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from mixmood.core.arrays import Array
from mixmood.core.errors import ShapeError
from mixmood.core.records.ranking import Dissimilarity, NoiseFloor, RankedDissimilarity
from mixmood.core.seeds import rng_for
from mixmood.evidence.advice import Nearness, nearness
from mixmood.numerics.neighbours import MOST_COMPARED, near_copies
from mixmood.ranking.plan import RankingPlan
from mixmood.ranking.statistics.certainty import Certainty, chances_of_best, rank_intervals
from mixmood.ranking.statistics.distances import DrawnDistances, drawn_distances
from mixmood.ranking.statistics.draw_tables import DrawTables
from mixmood.ranking.statistics.draws import check_fits, subsets
from mixmood.ranking.statistics.jackknife import image_covariance
from mixmood.ranking.statistics.permutation import holm, permutation_p
from mixmood.ranking.statistics.wilcoxon import wilcoxon_p

N_PERMUTATIONS = 399


@dataclass(frozen=True)
class Scores:
    """The statistics of every pool by every measure, and the noise floors of the measures."""

    pools: dict[str, dict[str, RankedDissimilarity]]
    """By the names of pool and measure."""
    noise_floor: dict[str, NoiseFloor]
    copied: dict[str, float] = field(default_factory=dict)
    """The share of near copies of labelled images in each pool; 0 where it is missing."""

    def nearness(self, measure: str) -> dict[str, Nearness]:
        """How each pool relates to the labelled set by one measure, by the name of the pool."""
        floor = self.noise_floor[measure]
        return {
            name: nearness(found[measure], floor, self.copied.get(name, 0.0))
            for name, found in self.pools.items()
        }


Measured = tuple[DrawnDistances, Certainty]
"""The distances of all draws, and the certainty of their means."""


def score(
    labelled: Array,
    pools: Mapping[str, Array],
    plan: RankingPlan,
    jobs: int = 1,
    tables: DrawTables | None = None,
) -> Scores:
    """Distances, p-values, intervals and ranks of every pool, for each measure.

    Args:
        labelled: Labelled features in random order, shape (n, d).
        pools: By name, the features of each pool in random order, shape (n_k, d).
        plan: A plan that fits the labelled set.
        jobs: Threads; they change only the time.
        tables: Draws that were computed earlier for the same sets, if any.
    """
    check_widths(labelled, pools)
    drawn, certainty = measure(labelled, pools, plan, jobs, tables)
    with ThreadPoolExecutor(jobs) as threads:
        columns = threads.map(lambda name: p_values(labelled, pools[name], plan, name), pools)
        chances = np.stack(list(columns), axis=1)
    by_measure = {
        name: _one_measure(m, list(pools), drawn, certainty, chances[m], plan.seed)
        for m, name in enumerate(plan.measures)
    }
    found = {
        pool: {name: results[k] for name, results in by_measure.items()}
        for k, pool in enumerate(pools)
    }
    return Scores(found, noise_floor(labelled, plan), copied_shares(labelled, pools))


def copied_shares(labelled: Array, pools: Mapping[str, Array]) -> dict[str, float]:
    """The share of each pool's images that are near copies of labelled ones."""
    own = labelled[:MOST_COMPARED]
    return {
        name: float(near_copies(pool[:MOST_COMPARED], own).mean()) for name, pool in pools.items()
    }


def _one_measure(
    m: int,
    names: Sequence[str],
    drawn: DrawnDistances,
    certainty: Certainty,
    p_values: Array,
    seed: int,
) -> list[RankedDissimilarity]:
    """The results of every pool by one measure, whose row in the tables is `m`."""
    corrected = holm(p_values)
    reach = certainty.intervals()[m]
    # The same random numbers for each measure, so that its result does not depend on the others.
    possible = certainty.possible(m, rng_for(seed, "possible"))
    chances, ranks = chances_of_best(possible), rank_intervals(possible)
    order = sorted(range(len(names)), key=lambda k: (certainty.distances[m, k], names[k]))
    return [
        RankedDissimilarity(
            **vars(_dissimilarity(drawn, m, k, p_values[k], corrected[k], reach[k])),
            rank=order.index(k) + 1,
            p_best=float(chances[k]),
            rank_interval=(int(ranks[k][0]), int(ranks[k][1])),
        )
        for k in range(len(names))
    ]


def check_widths(labelled: Array, pools: Mapping[str, Array]) -> None:
    """Refuse features that are not all of one width."""
    for name, pool in pools.items():
        reason = why_widths_differ(labelled.shape[1], pool.shape[1])
        if reason:
            raise ShapeError(f"'{name}' cannot be compared: {reason}")


def why_widths_differ(labelled: int, pool: int) -> str | None:
    """Why features of two widths cannot be compared; None if they are equal."""
    if labelled == pool:
        return None
    return (
        "all sets must have the same number of features; the labelled set has "
        f"{labelled} and the pool has {pool}. Extract them with the same backbone."
    )


def measure(
    labelled: Array,
    pools: Mapping[str, Array],
    plan: RankingPlan,
    jobs: int = 1,
    tables: DrawTables | None = None,
) -> Measured:
    """The distances of all draws of a plan, and the certainty of their means.

    `tables` holds draws that were computed earlier for the same sets; new ones are added to it.
    """
    for name, pool in pools.items():
        check_fits(plan.sample_size, len(pool), name)
    drawn, without = (tables or DrawTables()).update(labelled, pools, plan, jobs)
    own = drawn.first(plan.draws)
    images, freedom = image_covariance(without), without.shape[-1] - 1
    return own, Certainty.of(own.signed, drawn.signed, images, freedom)


def noise_floor(labelled: Array, plan: RankingPlan) -> dict[str, NoiseFloor]:
    """The distance between disjoint parts of the labelled set, by measure.

    It takes three disjoint parts, where the distance of a pool takes two. The parts of a small
    labelled set are therefore smaller than the sample size of the ranking, and the floor is a
    little too high, never too low.
    """
    size = min(plan.sample_size, len(labelled) // 3)
    triples = subsets(len(labelled), 3 * size, plan.draws, rng_for(plan.seed, "floor"))
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


def p_values(labelled: Array, pool: Array, plan: RankingPlan, name: str) -> Array:
    """Permutation p-values of one pool, shape (measures,)."""
    # At most two samples of each set: it bounds the time.
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
