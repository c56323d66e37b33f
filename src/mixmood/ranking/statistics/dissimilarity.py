"""The distance between two arrays of features, for users who have their own features."""

from dataclasses import fields

from mixmood.core.arrays import Array
from mixmood.core.family_names import DEFAULT_MEASURE
from mixmood.core.records.ranking import Dissimilarity
from mixmood.core.seeds import rng_for
from mixmood.measures.pairs import check_pair
from mixmood.ranking.plan import RankingPlan
from mixmood.ranking.statistics.draws import check_fits
from mixmood.ranking.statistics.score import score


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
    return distances_of(labelled, pool, plan)[measure]


def distances_of(labelled: Array, pool: Array, plan: RankingPlan) -> dict[str, Dissimilarity]:
    """The distance of a pool from a labelled set by each measure; both are in random order.

    Args:
        labelled: Features of the labelled set, shape (n, d).
        pool: Features of the pool, shape (m, d).
        plan: A plan that fits the labelled set.
    """
    names = [one.name for one in fields(Dissimilarity)]
    found = score(labelled, {"pool": pool}, plan).pools["pool"]
    return {
        measure: Dissimilarity(**{name: getattr(result, name) for name in names})
        for measure, result in found.items()
    }
