"""Pools are read in rounds, until it is clear which one is the nearest."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from threadpoolctl import threadpool_limits

from mixmood.core.seeds import rng_for
from mixmood.ranking.plan import RankingPlan
from mixmood.ranking.reading import Reading
from mixmood.ranking.statistics.certainty import chances_of_best
from mixmood.ranking.statistics.draw_tables import DrawTables
from mixmood.ranking.statistics.draws import why_too_small
from mixmood.ranking.statistics.score import measure

N_ROUNDS = 8


@dataclass(frozen=True)
class Rounds:
    """How far the pools were read.

    Attributes:
        too_small: Why a pool holds fewer images than a sample, by its name.
        n_done: Rounds that were read.
        n_all: Rounds that would be read without stopping early.
        tables: The draws that were computed between rounds, for use in the final result.
    """

    too_small: dict[str, str]
    n_done: int
    n_all: int
    tables: DrawTables


def read_in_rounds(
    labelled: Reading,
    pools: Mapping[str, Reading],
    plan: RankingPlan,
    jobs: int = 1,
    least: int = 0,
) -> Rounds:
    """Read the images that the draws need, and stop early where the order is clear.

    Without `plan.until` there is one round. With it, each round reads the images of an eighth of
    the draws, until one pool is the nearest with that probability. A pool that can no longer be
    the nearest is not read further. The number of draws stays the same; they are taken from the
    images that were read.

    Args:
        labelled: The labelled images.
        pools: The pools by name.
        plan: A plan that fits the labelled set.
        jobs: Threads that compute between rounds.
        least: Images of each pool that are read in any case, for the probe.
    """
    # An estimated probability cannot show certainty: with 1, everything is read.
    is_early = plan.until is not None and plan.until < 1
    n_all = min(N_ROUNDS, plan.draws) if is_early else 1
    may_win, too_small, n_before, tables = set(pools), dict[str, str](), 0, DrawTables()
    for n_done in range(1, n_all + 1):
        n_draws = max(-(-plan.draws * n_done // n_all), 2)
        labelled.grow(2 * plan.sample_size * n_draws)
        copies = labelled.row_keys()
        for name, pool in pools.items():
            pool.grow(max(plan.sample_size * (n_draws if name in may_win else 1), least), copies)
        too_small = _too_small(pools, plan.sample_size)
        left = {name: pool for name, pool in pools.items() if name not in too_small}
        if n_done == n_all or not left:
            break
        n_read = len(labelled.features) + sum(len(pool.features) for pool in left.values())
        if n_read == n_before:
            continue  # the images of this round were read before
        n_before = n_read
        # A pool that could not win before cannot win now.
        rivals = {name: pool for name, pool in left.items() if name in may_win} or left
        standing = _standing(labelled, rivals, plan, jobs, tables)
        may_win = standing.may_win
        if plan.until is not None and standing.chance >= plan.until:
            break
    return Rounds(too_small, n_done, n_all, tables)


@dataclass(frozen=True)
class Standing:
    """The result after a round.

    Attributes:
        chance: The largest probability of a pool to be the nearest.
        may_win: The pools that may still be the nearest.
    """

    chance: float
    may_win: set[str]


def _too_small(pools: Mapping[str, Reading], sample_size: int) -> dict[str, str]:
    """Why some pools hold fewer images than a sample, by their names."""
    reasons = {
        name: why_too_small(sample_size, len(pool.features), pool.n_copies, pool.problems)
        for name, pool in pools.items()
    }
    return {name: reason for name, reason in reasons.items() if reason}


def _standing(
    labelled: Reading,
    pools: Mapping[str, Reading],
    plan: RankingPlan,
    jobs: int,
    tables: DrawTables,
) -> Standing:
    """The result so far, by the measure that ranks."""
    plan = replace(plan, measures=(plan.measure,))
    features = {name: pool.features for name, pool in pools.items()}
    # Only during this computation: the limit holds for the whole process.
    with threadpool_limits(1, user_api="blas"):
        certainty = measure(labelled.features, features, plan, jobs, tables)[1]
    reach = certainty.intervals()[0]
    within = reach[:, 0] <= reach[:, 1].min()
    chances = chances_of_best(certainty.possible(0, rng_for(plan.seed, "possible")))
    may_win = {name for name, is_within in zip(features, within, strict=True) if is_within}
    return Standing(float(chances.max()), may_win)
