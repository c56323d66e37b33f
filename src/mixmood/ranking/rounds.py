"""Reading no more images than the decision needs."""

from collections.abc import Mapping
from dataclasses import replace

from threadpoolctl import threadpool_limits

from mixmood.core.seeds import rng_for
from mixmood.ranking.reading import Reading
from mixmood.ranking.statistics.certainty import chances_of_best
from mixmood.ranking.statistics.draws import check_fits
from mixmood.ranking.statistics.score import Plan, measure

N_ROUNDS = 6


def read_in_rounds(
    labelled: Reading,
    pools: Mapping[str, Reading],
    plan: Plan,
    until: float | None,
    jobs: int = 1,
) -> int:
    """Read what the draws need, and say how many draws that allows.

    Without `until` there is one round. With it, reading goes on in rounds of a sixth of the draws
    until the nearest pool's chance of being the nearest reaches `until`; a pool that can no
    longer win is read no further, and its later draws reuse the images read. `jobs` threads do
    the sums between rounds.
    """
    share = 1 if until is None else N_ROUNDS
    hopeful = set(pools)
    for round_ in range(1, share + 1):
        n_draws = max(-(-plan.n_draws * round_ // share), 2)
        labelled.grow(2 * plan.sample_size * n_draws)
        taken = labelled.prints()
        for name in hopeful:
            pools[name].grow(plan.sample_size * n_draws, taken)
        for name, pool in pools.items():
            check_fits(plan.sample_size, len(pool.features), name, pool.n_copies)
        if until is None or n_draws == plan.n_draws:
            break
        chance, hopeful = _standing(labelled, pools, replace(plan, n_draws=n_draws), jobs)
        if chance >= until:
            break
    return n_draws


def _standing(
    labelled: Reading, pools: Mapping[str, Reading], plan: Plan, jobs: int
) -> tuple[float, set[str]]:
    """The chance of the nearest pool to be the nearest, and the pools that may still win."""
    plan = replace(plan, measures=plan.measures[:1])
    features = {name: pool.features for name, pool in pools.items()}
    # No longer than the sums take: the limit is that of the whole process.
    with threadpool_limits(1, user_api="blas"):
        _, certainty = measure(labelled.features, features, plan, jobs)
    reach = certainty.intervals()[0]
    within = reach[:, 0] <= reach[:, 1].min()
    chances = chances_of_best(certainty.possible(rng_for(plan.seed, "possible")))
    hopeful = {name for name, may_win in zip(features, within, strict=True) if may_win}
    return float(chances.max()), hopeful
