"""The distance of every pool from the labelled set, with p-values, interval and rank."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from mixmood.core.arrays import Array, Rows
from mixmood.core.errors import ShapeError
from mixmood.core.options import DEFAULT_MEASURE
from mixmood.core.records.ranking import Dissimilarity, NoiseFloor, RankedDissimilarity
from mixmood.core.seeds import rng_for
from mixmood.evidence.advice import Nearness, nearness
from mixmood.evidence.labelled import POOL
from mixmood.measures.pairs import check_pair
from mixmood.numerics.neighbours import MOST_COMPARED, near_copies
from mixmood.ranking.certainty import N_DRAWS, Certainty, image_covariance, leave_out, places
from mixmood.ranking.draws import (
    DrawnDistances,
    check_fits,
    drawn_distances,
    holm,
    labelled_pairs,
    permutation_p,
    subsets,
    wilcoxon_p,
)
from mixmood.ranking.plan import RankingPlan

N_PERMUTATIONS = 399


@dataclass(frozen=True)
class Scores:
    """The statistics by pool and measure, and the noise floors of the measures."""

    pools: dict[str, dict[str, RankedDissimilarity]]
    noise_floor: dict[str, NoiseFloor]
    copied: dict[str, float] = field(default_factory=dict)  # shares of near copies, 0 if missing

    def nearness(self, measure: str) -> dict[str, Nearness]:
        """How each pool relates to the labelled set by one measure."""
        floor = self.noise_floor[measure]
        return {
            name: nearness(found[measure], floor, self.copied.get(name, 0.0))
            for name, found in self.pools.items()
        }


Measured = tuple[DrawnDistances, Certainty]  # of all draws of a plan, and of their means


def score(
    labelled: Array,
    pools: Mapping[str, Array],
    plan: RankingPlan,
    jobs: int = 1,
    measured: Measured | None = None,
) -> Scores:
    """Distances, p-values, intervals and ranks of every pool, for each measure.

    All features are in random order, and the plan fits the labelled set. `jobs` are threads.
    `measured` is what `measure` gives for the same arguments, if it is known.
    """
    for name, pool in pools.items():
        if reason := why_widths_differ(labelled.shape[1], pool.shape[1]):
            raise ShapeError(f"'{name}' cannot be compared: {reason}")
    drawn, certainty = measured or measure(labelled, pools, plan, jobs)
    with ThreadPoolExecutor(jobs) as threads:
        columns = threads.map(lambda pool: p_values(labelled, pool, plan), pools.values())
        chances = np.stack(list(columns), axis=1)
    found: dict[str, dict[str, RankedDissimilarity]] = {name: {} for name in pools}
    for m, name in enumerate(plan.measures):
        corrected, reach = holm(chances[m]), certainty.intervals()[m]
        # The same random numbers for each measure: its result does not depend on the others.
        possible = certainty.possible(m, rng_for(plan.seed, "possible"))
        distances = dict(zip(pools, certainty.distances[m].tolist(), strict=True))
        placed = places(distances, possible)
        for k, (pool_name, results) in enumerate(found.items()):
            results[name] = RankedDissimilarity(
                **_of_draws(drawn.inter[m, k], drawn.intra[m]),
                p_permutation=float(chances[m, k]),
                p_holm=float(corrected[k]),
                interval=(float(reach[k, 0]), float(reach[k, 1])),
                inter=tuple(drawn.inter[m, k].tolist()),
                intra=tuple(drawn.intra[m].tolist()),
                **vars(placed[pool_name]),
            )
    own = labelled[:MOST_COMPARED]
    copied = {name: float(near_copies(p[:MOST_COMPARED], own).mean()) for name, p in pools.items()}
    return Scores(found, noise_floor(labelled, plan), copied)


def why_widths_differ(labelled: int, pool: int) -> str | None:
    """Why features of two widths cannot be compared; None if they are equal."""
    if labelled == pool:
        return None
    return (
        "all sets must have the same number of features; the labelled set has "
        f"{labelled} and the pool has {pool}. Extract them with the same backbone."
    )


def measure(
    labelled: Array, pools: Mapping[str, Array], plan: RankingPlan, jobs: int = 1
) -> Measured:
    """The distances of all draws of a plan, and the certainty of their means."""
    for name, pool in pools.items():
        check_fits(plan.sample_size, len(pool), name)
    features = list(pools.values())
    pairs, rows = _drawn_rows(labelled, features, plan)
    names, overflow = plan.measures, plan.overflow
    drawn = drawn_distances(labelled, features, pairs, rows, names, overflow, jobs)
    rng, few = rng_for(plan.seed, "groups"), pairs[:N_DRAWS]
    pool_rngs = [rng_for(plan.seed, "groups", POOL) for _ in features]
    without = leave_out(labelled, features, few, rows, names, rng, pool_rngs, overflow, jobs)
    n = plan.draws
    own = DrawnDistances(drawn.inter[..., :n], drawn.intra[..., :n])
    images, freedom = image_covariance(without), without.shape[-1] - 1
    return own, Certainty.of(own.signed, drawn.signed, images, freedom)


def _drawn_rows(
    labelled: Array, pools: Sequence[Array], plan: RankingPlan
) -> tuple[Rows, list[Rows]]:
    """The rows of each draw: `labelled_pairs`, and the `subsets` of each pool."""
    # The noise of drawing cannot be estimated from a few draws, so at least N_DRAWS are made.
    n_draws, size = max(plan.draws, N_DRAWS), plan.sample_size
    pairs = labelled_pairs(len(labelled), size, n_draws, rng_for(plan.seed, "pairs"), plan.paper)
    rows = [
        subsets(len(pool), size, n_draws, rng_for(plan.seed, "subsets", POOL)) for pool in pools
    ]
    return pairs, rows


def quick_distances(
    labelled: Array, pool: Array, plan: RankingPlan, n_permutations: int
) -> dict[str, dict[str, Any]]:
    """The distances of a ranking without intervals, which take two thirds of the time.

    By measure: distance, spread, signed, p_wilcoxon, and p_permutation of so many permutations. All
    features are in random order, and the plan fits the labelled set.
    """
    pairs, (rows,) = _drawn_rows(labelled, [pool], plan)
    n = plan.draws
    drawn = drawn_distances(labelled, [pool], pairs[:n], [rows[:n]], plan.measures, plan.overflow)
    chances = p_values(labelled, pool, plan, n_permutations)
    return {
        name: {**_of_draws(drawn.inter[m, 0], drawn.intra[m]), "p_permutation": float(chances[m])}
        for m, name in enumerate(plan.measures)
    }


def noise_floor(labelled: Array, plan: RankingPlan) -> dict[str, NoiseFloor]:
    """The distance between disjoint parts of the labelled set, by measure.

    It takes three disjoint parts, where the distance of a pool takes two. Those of a small labelled
    set are smaller than the sample size, and the floor is a little too high, never too low.
    """
    size = min(plan.sample_size, len(labelled) // 3)
    triples = subsets(len(labelled), 3 * size, plan.draws, rng_for(plan.seed, "floor"))
    pairs, others = triples[:, : 2 * size].reshape(-1, 2, size), [triples[:, 2 * size :]]
    names, overflow = plan.measures, plan.overflow
    drawn = drawn_distances(labelled, [labelled], pairs, others, names, overflow)
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


def p_values(
    labelled: Array, pool: Array, plan: RankingPlan, n_permutations: int = N_PERMUTATIONS
) -> Array:
    """Permutation p-values of one pool, shape (measures,)."""
    # At most two samples of each set: it bounds the time.
    most, rng = 2 * plan.sample_size, rng_for(plan.seed, "permutation", POOL)
    return permutation_p(labelled[:most], pool[:most], plan.measures, n_permutations, rng)


def _of_draws(inter: Array, intra: Array) -> dict[str, Any]:
    """What follows from the draws of one pool alone, both of shape (draws,)."""
    apart = np.abs(inter - intra)
    return {
        "distance": float(apart.mean()),
        "spread": float(apart.std(ddof=1)),
        "signed": float((inter - intra).mean()),
        "p_wilcoxon": wilcoxon_p(inter, intra),
    }


def dissimilarity(
    features_a: Array,
    features_b: Array,
    measure: str = DEFAULT_MEASURE,
    sample_size: int = 80,
    draws: int = 30,
    seed: int = 0,
    paper: bool = False,
) -> Dissimilarity:
    """The distance from one set of feature vectors to another, with its certainty.

    Args:
        features_a: The labelled set, shape (n, d), n >= 8; it is also compared with itself.
        features_b: The pool, shape (m, d).
        measure: One of `mixmood.measures.MEASURES`.
        sample_size: Images per draw (tau); shrinks to n // 2 where the labelled set is small.
        draws: Number of draws (C).
        seed: Decides every random choice.
        paper: As in the paper's code: the two labelled samples may overlap, and values outside
            the range of the first sample are dropped.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> near = dissimilarity(rng.normal(size=(60, 5)), rng.normal(size=(200, 5)))
    >>> far = dissimilarity(rng.normal(size=(60, 5)), rng.normal(2.0, size=(200, 5)))
    >>> near.distance < far.distance, far.p_permutation
    (True, 0.0025)
    """
    check_pair(features_a, features_b)
    plan = RankingPlan(
        measures=(measure,), sample_size=sample_size, draws=draws, seed=seed, paper=paper
    ).fitted(len(features_a))
    check_fits(plan.sample_size, len(features_b), "features_b")
    # Draws cut rows in order, so the order has to be random.
    labelled = rng_for(seed, "order", "labelled").permutation(features_a)
    pool = rng_for(seed, "order", "pool").permutation(features_b)
    found = score(labelled, {POOL: pool}, plan).pools[POOL][measure]
    return Dissimilarity(**{one.name: getattr(found, one.name) for one in fields(Dissimilarity)})
