"""What each pool is worth: its useful share, its gain, the advice, and its place in the order."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from mixmood.core.arrays import Rows
from mixmood.core.listener import PROBE, Listener
from mixmood.core.options import DEFAULT_PROBE
from mixmood.core.records.ranking import LabelledAccuracy, Probe
from mixmood.core.seeds import rng_for
from mixmood.data.images.labels import groups_of, needed_labels
from mixmood.data.images.pool import Pool
from mixmood.evidence.accuracy import accuracy_of
from mixmood.evidence.advice import NO_CLASSES, NOT_MEASURED, Answer, PoolAdvice, answer, is_foreign
from mixmood.evidence.labelled import MOST_JUDGED, N_FIRST, N_POOL, JudgedPart, LabelledEvidence
from mixmood.evidence.view import ViewEvidence, train_head
from mixmood.features.extract import Extractor
from mixmood.features.reading import LABELLED, POOL, Reading
from mixmood.features.sample import Sample
from mixmood.jobs.local import checked_jobs
from mixmood.ranking.certainty import N_POSSIBLE, Place, places
from mixmood.ranking.distance import Scores
from mixmood.ranking.plan import RankingPlan


@dataclass(frozen=True)
class PoolGains:
    """The pools as far as they were read, and what each is worth, by name.

    Nothing depends on distances or on the other pools: the same pool has the same share, gain and
    advice in `rank`, `filter` and `train`.
    """

    labelled: Reading
    pools: dict[str, Reading]
    parts: dict[str, JudgedPart]  # the images of each pool that were judged, with their share
    probes: dict[str, Probe | None]  # the gains; None without classes
    advice: dict[str, PoolAdvice]
    answer: Answer
    evidence: LabelledEvidence
    why_no_gain: str | None  # why there is no gain although one was asked for; None otherwise

    @property
    def in_order(self) -> tuple[Rows, LabelledEvidence] | None:
        """The labelled images in the order of `train` and `check`; None if no gain was measured."""
        if not any(self.probes.values()):
            return None
        own = self.evidence
        rows = self.labelled.sample.rows[: len(own.features)]
        order = np.argsort(rows)
        groups = None if own.groups is None else own.groups[order]
        codes = np.asarray(own.codes)[order]
        listed = replace(own, features=own.features[order], codes=codes, groups=groups)
        return rows[order], listed

    def accuracy(self, views: ViewEvidence | None) -> LabelledAccuracy | None:
        """How often a classifier without a pool is right, as `train` would find it.

        `views` are the labelled images in all views, if the view was chosen on all of them.
        """
        if self.in_order is None:
            return None
        rows, own = self.in_order
        present, codes = np.unique(np.asarray(own.codes), return_inverse=True)
        trained = train_head(
            own.features,
            codes,
            len(present),
            None,
            rng_for(own.seed, "head"),
            groups=own.groups,
            views=views if views is not None and len(views.codes) == len(rows) else None,
        )
        names = [needed_labels(self.labelled.pool).names[code] for code in present]
        return accuracy_of(trained.logits, codes, names, own.groups)


def gains_of(
    labelled: Reading,
    pools: Mapping[str, Reading],
    seed: int,
    groups: str | None,
    listener: Listener,
    algorithm: str | None = DEFAULT_PROBE,
) -> PoolGains:
    """Share, gain and advice of each pool, and which pools to use together.

    More images are read if gains need them. Without an algorithm, no gain is measured.
    """
    if algorithm is not None:
        # Always so many: reading fewer images for distances must not change share and gain.
        labelled = labelled.read_on(MOST_JUDGED, beyond=True)
    members = groups_of(labelled.pool, groups)
    members = None if members is None else members[labelled.sample.rows]
    evidence = LabelledEvidence(labelled.features, labelled.codes, seed, members)
    return _gains(labelled, pools, evidence, algorithm, listener)


def _gains(
    labelled: Reading,
    pools: Mapping[str, Reading],
    evidence: LabelledEvidence,
    algorithm: str | None,
    listener: Listener,
) -> PoolGains:
    why_no_gain = None if algorithm is None else evidence.why_no_gain
    head = algorithm if why_no_gain is None else None
    read, first = dict(pools), dict[str, JudgedPart]()

    def read_on(name: str, n_images: int) -> None:
        read[name] = read[name].read_on(n_images, labelled.sample, beyond=True)

    def judged(name: str) -> tuple[JudgedPart, Probe | None]:
        part = evidence.part(read[name].features, first.get(name))
        probe = None if head is None else evidence.probe(part, head)
        listener.advance(PROBE)
        return part, probe

    with ThreadPoolExecutor(checked_jobs(labelled.extractor.jobs)) as threads:
        if algorithm is not None:
            for name in pools:
                read_on(name, N_FIRST)
            firsts = threads.map(lambda name: evidence.first_part(read[name].features), pools)
            first.update(zip(pools, firsts, strict=True))
        for name, part in first.items():
            if head is not None and not is_foreign(part.share):
                read_on(name, N_POOL)
        listener.start(PROBE, len(pools))
        found = dict(zip(pools, threads.map(judged, pools), strict=True))
        listener.finish(PROBE)
    parts = {name: part for name, (part, _) in found.items()}
    probes = {name: probe for name, (_, probe) in found.items()}
    advice = {name: evidence.advice(part, probe) for name, (part, probe) in found.items()}

    def together(names: tuple[str, ...]) -> Probe:
        return evidence.probe(evidence.union([parts[name] for name in names]), str(head))

    why = NO_CLASSES if algorithm is not None and evidence.codes is None else NOT_MEASURED
    said = answer(advice, probes, together, why)
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


def places_of(gains: PoolGains, scores: Scores, plan: RankingPlan) -> tuple[str, dict[str, Place]]:
    """The order, "gain" or "distance", and the place of each pool in it.

    Only the part of the error that differs between pools is simulated: an error that all pools
    share, such as that due to the labelled images, does not change their order.
    """
    known = {name: probe for name, probe in gains.probes.items() if probe is not None}
    # Where the labels cannot be learnt, gains are noise.
    if plan.by != "gain" or not known or not gains.evidence.folds.is_learnable:
        nearest = {name: found[plan.measure] for name, found in scores.pools.items()}
        return "distance", {
            name: Place(one.rank, one.p_best, one.rank_interval) for name, one in nearest.items()
        }
    # The best pool has the smallest value in `places`, so gains are negated.
    values = {name: -probe.gain for name, probe in known.items()}
    errors = np.array([[probe.order_error or 0.0] for probe in known.values()])
    moves = rng_for(plan.seed, "possible gains").standard_normal((len(known), N_POSSIBLE))
    means = np.array([*values.values()])[:, None]
    return "gain", places(values, means - errors * moves)
