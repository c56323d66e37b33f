"""What each pool is worth: its useful share, its gain, the advice, and its place in the order."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from mixmood.core.arrays import Codes
from mixmood.core.listener import PROBE, Listener
from mixmood.core.records.ranking import Probe, ShareRecord
from mixmood.core.seeds import rng_for
from mixmood.evidence.advice import (
    NO_CLASSES,
    NOT_MEASURED,
    Answer,
    Nearness,
    PoolAdvice,
    answer,
    is_foreign,
)
from mixmood.evidence.labelled import (
    MOST_LABELLED,
    N_FIRST,
    N_POOL,
    JudgedPart,
    LabelledEvidence,
    interleaved,
)
from mixmood.ranking.certainty import N_POSSIBLE, chances_of_best, rank_intervals
from mixmood.ranking.distance import Scores
from mixmood.ranking.plan import RankingPlan
from mixmood.ranking.read import Reading

Result = TypeVar("Result")


@dataclass(frozen=True)
class Place:
    """A pool's place in the ranking."""

    rank: int
    p_best: float
    rank_interval: tuple[int, int]


@dataclass(frozen=True)
class JudgedPools:
    """The pools as far as they were read, and what follows from it; dictionaries by pool name.

    Attributes:
        labelled: The labelled images as far as they were read.
        pools: The pools as far as they were read.
        shares: The useful shares.
        probes: The gains; None without classes.
        nearness: How each pool relates to the labelled set.
        advice: What to do with each pool.
        places: The places in the order `by`.
        by: The order: "distance" or "gain".
        answer: What to do, for the ranking as a whole.
        why_no_gain: Why there is no probe although one was asked for; None otherwise.
    """

    labelled: Reading
    pools: dict[str, Reading]
    shares: dict[str, ShareRecord | None]
    probes: dict[str, Probe | None]
    nearness: dict[str, Nearness]
    advice: dict[str, PoolAdvice]
    places: dict[str, Place]
    by: str
    answer: Answer
    why_no_gain: str | None


def judge(
    labelled: Reading,
    pools: Mapping[str, Reading],
    scores: Scores,
    plan: RankingPlan,
    listener: Listener,
    n_threads: int,
    groups: Codes | None = None,
) -> JudgedPools:
    """Share, gain and advice of the pools of a ranking; more images are read for the gain."""
    if plan.probe and labelled.codes is not None:
        # Always the same number: reading fewer images for distances must not change the probe.
        labelled = labelled.read_on(MOST_LABELLED, beyond=True)
    members = None if groups is None else groups[labelled.sample.rows]
    evidence = LabelledEvidence(labelled.features, labelled.codes, plan.seed, members)
    is_probed = plan.probe and evidence.why_no_gain is None

    def each(function: Callable[[str], Result]) -> dict[str, Result]:
        with ThreadPoolExecutor(n_threads) as threads:
            return dict(zip(pools, threads.map(function, pools), strict=True))

    read = dict(pools)
    first: dict[str, JudgedPart] = {}
    if is_probed:
        read = {
            name: pool.read_on(N_FIRST, labelled.sample, beyond=True) for name, pool in read.items()
        }
        first = each(lambda name: evidence.first_part(read[name].features))
        read = {
            name: pool
            if is_foreign(first[name].share)
            else pool.read_on(N_POOL, labelled.sample, beyond=True)
            for name, pool in read.items()
        }
    listener.start(PROBE, len(pools))

    def of_pool(name: str) -> tuple[JudgedPart, Probe | None]:
        part = evidence.part(read[name].features, first.get(name))
        probe = evidence.probe(part, plan.probe_algorithm) if is_probed else None
        listener.advance(PROBE)
        return part, probe

    found = each(of_pool)
    listener.finish(PROBE)
    probes = {name: probe for name, (_, probe) in found.items()}
    shares = {name: part.share for name, (part, _) in found.items()}
    nearness = scores.nearness(plan.measure)
    advice = {name: evidence.advice(part, probe) for name, (part, probe) in found.items()}

    def together(names: tuple[str, ...]) -> Probe:
        rows = interleaved([found[name][0].features for name in names])
        return evidence.probe(evidence.part(rows), plan.probe_algorithm)

    # Where the labels cannot be learnt, gains are noise.
    is_by_gain = plan.by == "gain" and is_probed and evidence.folds.is_learnable
    return JudgedPools(
        labelled,
        read,
        shares,
        probes,
        nearness,
        advice,
        _by_gain(probes, plan.seed) if is_by_gain else _by_distance(scores, plan.measure),
        "gain" if is_by_gain else "distance",
        answer(
            advice,
            probes,
            together,
            NO_CLASSES if plan.probe and evidence.codes is None else NOT_MEASURED,
        ),
        evidence.why_no_gain if plan.probe else None,
    )


def _by_distance(scores: Scores, measure: str) -> dict[str, Place]:
    results = {name: found[measure] for name, found in scores.pools.items()}
    return {name: Place(r.rank, r.p_best, r.rank_interval) for name, r in results.items()}


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
