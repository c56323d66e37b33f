"""Pools are read in rounds, until it is clear which one is the nearest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mixmood.core.seeds import rng_for
from mixmood.features.reading import Reading
from mixmood.features.sample import named_problems
from mixmood.ranking.certainty import Certainty, chances_of_best
from mixmood.ranking.distance import Measured, measure
from mixmood.ranking.draws import why_too_small
from mixmood.ranking.plan import RankingPlan

N_ROUNDS = 8


@dataclass(frozen=True)
class Rounds:
    """The images as far as they were read, and how many rounds of reading there were."""

    labelled: Reading
    pools: dict[str, Reading]
    too_small: dict[str, str]  # why a pool holds fewer images than a sample
    n_done: int
    n_all: int  # rounds without stopping early
    measured: Measured | None = None  # all distances of the plan, if they are known by now


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
    images that were read. Keeping the draws of pools that were not read further between two rounds
    was tried (`docs/performance.md`): it made no whole command 1.5 times as fast.

    `least` images of each pool are read in any case, for share and gain; `jobs` are threads.
    """
    # An estimated probability cannot show certainty: with 1, everything is read.
    is_early = plan.until is not None and plan.until < 1
    n_all = min(N_ROUNDS, plan.draws) if is_early else 1
    read, may_win, too_small, n_before = dict(pools), set(pools), dict[str, str](), 0
    measured: Measured | None = None
    for n_done in range(1, n_all + 1):
        n_draws = max(-(-plan.draws * n_done // n_all), 2)
        labelled = labelled.read_on(2 * plan.sample_size * n_draws)
        for name, pool in read.items():
            n_images = plan.sample_size * (n_draws if name in may_win else 1)
            read[name] = pool.read_on(max(n_images, least), labelled.sample)
        too_small = {
            name: why for name, pool in read.items() if (why := _too_small(pool, plan.sample_size))
        }
        left = {name: pool for name, pool in read.items() if name not in too_small}
        n_read = len(labelled.sample) + sum(len(pool.sample) for pool in left.values())
        is_new, n_before = n_read != n_before, n_read
        measured = None if is_new else measured
        if n_done == n_all or not left:
            break
        if not is_new:
            continue  # the images of this round were read before
        # A pool that could not win before cannot win now.
        rivals = {name: pool for name, pool in left.items() if name in may_win} or left
        measured = _measured(labelled, rivals, plan, jobs)
        chance, may_win = _standing(list(rivals), measured[1], plan.seed)
        measured = measured if len(rivals) == len(left) and len(plan.measures) == 1 else None
        if plan.until is not None and chance >= plan.until:
            break
    return Rounds(labelled, read, too_small, n_done, n_all, measured)


def _too_small(pool: Reading, sample_size: int) -> str | None:
    sample, problems = pool.sample, named_problems([why for _, why in pool.sample.unreadable])
    return why_too_small(sample_size, len(sample), sample.n_left_out, problems)


def _measured(
    labelled: Reading, pools: Mapping[str, Reading], plan: RankingPlan, jobs: int
) -> Measured:
    """The distances by the first measure, of the images that were read so far."""
    plan = replace(plan, measures=(plan.measure,))
    features = {name: pool.sample.last for name, pool in pools.items()}
    return measure(labelled.sample.last, features, plan, jobs)


def _standing(names: Sequence[str], certainty: Certainty, seed: int) -> tuple[float, set[str]]:
    """The largest chance of a pool to be the nearest so far, and the pools that may still be it."""
    reach = certainty.intervals()[0]
    within = reach[:, 0] <= reach[:, 1].min()
    chances = chances_of_best(certainty.possible(0, rng_for(seed, "possible")))
    may_win = {name for name, is_within in zip(names, within, strict=True) if is_within}
    return float(chances.max()), may_win
