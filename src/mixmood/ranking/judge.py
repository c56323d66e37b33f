"""What each pool is worth: its useful share, its gain, the advice, and its place in the order."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from mixmood.core.arrays import Codes
from mixmood.core.listener import PROBE, Listener
from mixmood.core.options import DEFAULT_PROBE
from mixmood.core.records.ranking import LabelledAccuracy, Probe, ShareRecord
from mixmood.core.seeds import rng_for
from mixmood.data.images.labels import groups_of
from mixmood.data.images.pool import Pool
from mixmood.evidence.accuracy import accuracy_of
from mixmood.evidence.advice import (
    NO_CLASSES,
    NOT_MEASURED,
    Answer,
    Nearness,
    PoolAdvice,
    answer,
    is_foreign,
)
from mixmood.evidence.choice import train_head
from mixmood.evidence.labelled import MOST_JUDGED, N_FIRST, N_POOL, JudgedPart, LabelledEvidence
from mixmood.evidence.view import ViewEvidence
from mixmood.features.extract import Extractor
from mixmood.features.reading import LABELLED, POOL, Reading
from mixmood.features.sample import Sample
from mixmood.jobs.local import checked_jobs
from mixmood.ranking.certainty import N_POSSIBLE, chances_of_best, rank_intervals
from mixmood.ranking.distance import Scores
from mixmood.ranking.plan import RankingPlan

Result = TypeVar("Result")


@dataclass(frozen=True)
class Place:
    """A pool's place in the ranking."""

    rank: int
    p_best: float
    rank_interval: tuple[int, int]


@dataclass(frozen=True)
class PoolGains:
    """The pools as far as they were read, and what each is worth; dictionaries by pool name.

    Nothing here depends on distances or on the other pools: the same pool has the same share, gain
    and advice in `rank`, `filter` and `train`.
    """

    labelled: Reading
    pools: dict[str, Reading]
    parts: dict[str, JudgedPart]
    """The images of each pool that were judged, with their useful share."""
    probes: dict[str, Probe | None]
    """The gains; None without classes."""
    advice: dict[str, PoolAdvice]
    answer: Answer
    """What to do, for all pools."""
    evidence: LabelledEvidence
    why_no_gain: str | None
    """Why there is no gain although one was asked for; None otherwise."""

    def accuracy(self, views: ViewEvidence | None) -> LabelledAccuracy | None:
        """How often a classifier without a pool is right, as `train` would find it.

        None if no gain was measured. `views` are the labelled images in all views, if the view was
        chosen on all of them.
        """
        labels, own = self.labelled.pool.labels, self.evidence
        if labels is None or own.codes is None or not any(self.probes.values()):
            return None
        order = np.argsort(self.labelled.sample.rows[: len(own.codes)])
        present, codes = np.unique(own.codes[order], return_inverse=True)
        groups = None if own.groups is None else own.groups[order]
        trained = train_head(
            own.features[order],
            codes,
            len(present),
            None,
            rng_for(own.seed, "head"),
            groups=groups,
            views=views if views is not None and len(views.codes) == len(order) else None,
        )
        names = [labels.names[code] for code in present]
        return accuracy_of(trained.logits, codes, names, groups)

    @property
    def shares(self) -> dict[str, ShareRecord | None]:
        """The useful shares."""
        return {name: part.share for name, part in self.parts.items()}


def gains_of(
    labelled: Reading,
    pools: Mapping[str, Reading],
    *,
    algorithm: str | None,
    seed: int,
    listener: Listener,
    n_threads: int,
    groups: Codes | None = None,
) -> PoolGains:
    """Share, gain and advice of each pool, and which pools to use together.

    More images are read if gains need them. Without an algorithm, no gain is measured. `n_threads`
    pools are judged at once; `groups` are those of the images of the labelled pool.
    """
    if algorithm is not None:
        # Always the same number: reading fewer images for distances must not change share and gain.
        labelled = labelled.read_on(MOST_JUDGED, beyond=True)
    members = None if groups is None else groups[labelled.sample.rows]
    evidence = LabelledEvidence(labelled.features, labelled.codes, seed, members)
    is_probed = algorithm is not None and evidence.why_no_gain is None

    def each(function: Callable[[str], Result]) -> dict[str, Result]:
        with ThreadPoolExecutor(n_threads) as threads:
            return dict(zip(pools, threads.map(function, pools), strict=True))

    read = dict(pools)
    first: dict[str, JudgedPart] = {}
    if algorithm is not None:
        read = {
            name: pool.read_on(N_FIRST, labelled.sample, beyond=True) for name, pool in read.items()
        }
        first = each(lambda name: evidence.first_part(read[name].features))
    if is_probed:
        for name, part in first.items():
            if not is_foreign(part.share):
                read[name] = read[name].read_on(N_POOL, labelled.sample, beyond=True)
    listener.start(PROBE, len(pools))

    def of_pool(name: str) -> tuple[JudgedPart, Probe | None]:
        part = evidence.part(read[name].features, first.get(name))
        probe = evidence.probe(part, algorithm) if algorithm and is_probed else None
        listener.advance(PROBE)
        return part, probe

    found = each(of_pool)
    listener.finish(PROBE)
    parts = {name: part for name, (part, _) in found.items()}
    probes = {name: probe for name, (_, probe) in found.items()}
    advice = {name: evidence.advice(part, probe) for name, (part, probe) in found.items()}

    def together(names: tuple[str, ...]) -> Probe:
        return evidence.probe(evidence.union([parts[name] for name in names]), str(algorithm))

    why = NO_CLASSES if algorithm is not None and evidence.codes is None else NOT_MEASURED
    said, why_no_gain = answer(advice, probes, together, why), None
    if algorithm is not None:
        why_no_gain = evidence.why_no_gain
    return PoolGains(labelled, read, parts, probes, advice, said, evidence, why_no_gain)


def read_labelled(pool: Pool, seed: int, extractor: Extractor) -> Reading:
    """The labelled images on which gains are measured."""
    own = Reading.begin(pool, MOST_JUDGED, seed, LABELLED, extractor)
    return own.read_on(MOST_JUDGED)


def read_first(
    pool: Pool,
    labelled: Sample,
    seed: int,
    extractor: Extractor,
    banned: frozenset[bytes] = frozenset(),
) -> Reading:
    """The first images of a pool, without labelled ones and those whose content is banned."""
    reading = Reading.begin(pool, N_POOL, seed, POOL, extractor, banned=banned)
    return reading.read_on(N_FIRST, labelled)


def default_gains(
    labelled: Reading,
    pools: Mapping[str, Reading],
    seed: int,
    groups: str | None,
    listener: Listener,
) -> PoolGains:
    """What each pool is worth to the default head: the question of `filter`, `next` and `train`."""
    # Our threads use all cores already; threads of BLAS would only slow them down.
    with threadpool_limits(1, user_api="blas"):
        return gains_of(
            labelled,
            pools,
            algorithm=DEFAULT_PROBE,
            seed=seed,
            listener=listener,
            n_threads=checked_jobs(labelled.extractor.jobs),
            groups=groups_of(labelled.pool, groups),
        )


@dataclass(frozen=True)
class JudgedPools:
    """What the pools of a ranking are worth, how near they are, and their order."""

    gains: PoolGains
    nearness: dict[str, Nearness]
    """How each pool relates to the labelled set, by its name."""
    places: dict[str, Place]
    """The places in the order `by`, which is "distance" or "gain", by name."""
    by: str


def judge(
    labelled: Reading,
    pools: Mapping[str, Reading],
    scores: Scores,
    plan: RankingPlan,
    listener: Listener,
    n_threads: int,
    groups: Codes | None = None,
) -> JudgedPools:
    """Gains, advice and places of the pools of a ranking; more images are read for the gain."""
    gains = gains_of(
        labelled,
        pools,
        algorithm=plan.probe_algorithm if plan.probe else None,
        seed=plan.seed,
        listener=listener,
        n_threads=n_threads,
        groups=groups,
    )
    # Where the labels cannot be learnt, gains are noise.
    is_probed = plan.probe and gains.why_no_gain is None
    is_by_gain = plan.by == "gain" and is_probed and gains.evidence.folds.is_learnable
    distances = {name: found[plan.measure] for name, found in scores.pools.items()}
    by_distance = {n: Place(r.rank, r.p_best, r.rank_interval) for n, r in distances.items()}
    return JudgedPools(
        gains,
        scores.nearness(plan.measure),
        _by_gain(gains.probes, plan.seed) if is_by_gain else by_distance,
        "gain" if is_by_gain else "distance",
    )


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
