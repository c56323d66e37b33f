"""Probe, useful share and advice of every pool, and the order by gain."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np

from mixmood.core.arrays import Codes
from mixmood.core.listener import PROBE, Listener
from mixmood.core.records.ranking import Probe, Recommendation
from mixmood.core.records.useful_share import ShareRecord
from mixmood.core.seeds import rng_for
from mixmood.evidence.advice import NOT_MEASURED, PoolAdvice, advise, is_foreign, recommend
from mixmood.ranking.plan import RankingPlan
from mixmood.ranking.probing import (
    GIVE_LABELS,
    N_FIRST,
    N_POOL,
    Prober,
    prober,
    share_of,
)
from mixmood.ranking.reading import Reading
from mixmood.ranking.statistics.certainty import N_POSSIBLE, chances_of_best, rank_intervals
from mixmood.ranking.statistics.score import Scores


@dataclass(frozen=True)
class Place:
    """A pool's place in the ranking."""

    rank: int
    p_best: float
    rank_interval: tuple[int, int]


@dataclass(frozen=True)
class Outlook:
    """The results of the probe and what follows from them; dictionaries are by pool name.

    Attributes:
        shares: The useful shares.
        probes: The probes; None without classes.
        advice: What to do with each pool.
        places: The places in the order `by`.
        by: The order: "distance" or "gain".
        recommendation: What to do, for the ranking as a whole.
        note: Why there is no probe although one was asked for; None otherwise.
    """

    shares: dict[str, ShareRecord | None]
    probes: dict[str, Probe | None]
    advice: dict[str, PoolAdvice]
    places: dict[str, Place]
    by: str
    recommendation: Recommendation
    note: str | None


def outlook_of(
    labelled: Reading,
    pools: Mapping[str, Reading],
    scores: Scores,
    plan: RankingPlan,
    progress: Listener,
    n_threads: int,
    groups: Codes | None = None,
) -> Outlook:
    """Probe, share and advice of the pools of a ranking; more images are read for the probe."""
    prober_or_reason = prober(labelled, plan, groups) if plan.probe else None
    own_prober = prober_or_reason if isinstance(prober_or_reason, Prober) else None
    first = _first_shares(labelled, pools, plan.seed, n_threads) if own_prober else {}
    progress.start(PROBE, len(pools))

    def of_pool(name: str) -> tuple[ShareRecord | None, Probe | None]:
        rows, share = pools[name].features, first.get(name)
        if is_foreign(share):
            rows = rows[:N_FIRST]
        else:
            share = share_of(labelled, rows, name, plan.seed)
        probe = own_prober.probe(rows, name, share) if own_prober else None
        progress.advance(PROBE)
        return share, probe

    with ThreadPoolExecutor(n_threads) as threads:
        found = dict(zip(pools, threads.map(of_pool, pools), strict=True))
    progress.finish(PROBE)
    shares = {name: share for name, (share, _) in found.items()}
    probes = {name: probe for name, (_, probe) in found.items()}
    relation = scores.nearness(plan.measure)
    advice = {name: advise(probes[name], shares[name], relation[name]) for name in pools}

    def union(prober: Prober, pair: tuple[str, str]) -> Probe:
        rows, name = interleaved(*(pools[name].features for name in pair)), " + ".join(pair)
        return prober.probe(rows, name, share_of(labelled, rows, name, plan.seed))

    # Where the labels cannot be learnt, gains are noise.
    is_by_gain = plan.by == "gain" and own_prober is not None and own_prober.folds.is_learnable
    return Outlook(
        shares,
        probes,
        advice,
        _by_gain(probes, plan.seed) if is_by_gain else _by_distance(scores, plan.measure),
        "gain" if is_by_gain else "distance",
        recommend(
            advice,
            probes,
            partial(union, own_prober) if own_prober else None,
            _why_not_probed(prober_or_reason),
        ),
        prober_or_reason if isinstance(prober_or_reason, str) else None,
    )


def _first_shares(
    labelled: Reading, pools: Mapping[str, Reading], seed: int, n_threads: int
) -> dict[str, ShareRecord | None]:
    """The useful share of the first images of each pool; pools that are not foreign are read on.

    Only the first images decide, so that reading more of a pool for other reasons does not change
    its probe.
    """
    copies = labelled.row_keys()
    for pool in pools.values():
        pool.grow(N_FIRST, copies, beyond=True)

    def share(name: str) -> ShareRecord | None:
        return share_of(labelled, pools[name].features[:N_FIRST], name, seed)

    with ThreadPoolExecutor(n_threads) as threads:
        shares = dict(zip(pools, threads.map(share, pools), strict=True))
    for name, pool in pools.items():
        if not is_foreign(shares[name]):
            pool.grow(N_POOL, copies, beyond=True)
    return shares


def _why_not_probed(prober_or_reason: Prober | str | None) -> str:
    """Why no pool can be advised, in words."""
    if prober_or_reason == GIVE_LABELS:
        return "without classes, the gain of a pool cannot be measured"
    return NOT_MEASURED


def interleaved(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Rows of two pools in alternation, the same number of each.

    >>> interleaved(np.array([[1], [2], [3]]), np.array([[7], [8]])).ravel().tolist()
    [1, 7, 2, 8]
    """
    n = min(len(first), len(second))
    rows = np.stack([first[:n], second[:n]], axis=1)
    return np.asarray(rows.reshape(2 * n, -1))


def _by_distance(scores: Scores, measure: str) -> dict[str, Place]:
    # p_best and rank_interval are None only in records of earlier versions.
    return {
        name: Place(
            results[measure].rank,
            cast(float, results[measure].p_best),
            cast(tuple[int, int], results[measure].rank_interval),
        )
        for name, results in scores.pools.items()
    }


def _by_gain(probes: Mapping[str, Probe | None], seed: int) -> dict[str, Place]:
    """Places by gain; probabilities are counted in simulated gains.

    Only the part of the error that differs between pools is simulated: an error that all pools
    share, such as that due to the labelled images, does not change their order.
    """
    known = {name: probe for name, probe in probes.items() if probe is not None}
    order = sorted(known, key=lambda name: (-known[name].gain, name))
    means = np.array([probe.gain for probe in known.values()])
    errors = np.array([probe.order_error or 0.0 for probe in known.values()])
    moves = rng_for(seed, "possible gains").standard_normal((len(known), N_POSSIBLE))
    # The best pool has the smallest value in `chances_of_best`, so gains are negated.
    possible = -(means[:, None] + errors[:, None] * moves)
    chances, ranks = chances_of_best(possible), rank_intervals(possible)
    return {
        name: Place(order.index(name) + 1, float(chances[k]), (int(ranks[k][0]), int(ranks[k][1])))
        for k, name in enumerate(known)
    }
