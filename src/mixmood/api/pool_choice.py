"""What is a head trained on? The pools that `rank` advises, by the same question and numbers."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mixmood.api.view_choice import sets_in_view
from mixmood.core.cache import FeatureCache
from mixmood.core.errors import InputError
from mixmood.core.listener import Listener
from mixmood.core.options import DEFAULT_PROBE
from mixmood.core.text import listed
from mixmood.data.images.labels import needed_labels
from mixmood.data.images.pool import Pool, scaled
from mixmood.data.open import OpenedCandidates, are_image_files, open_candidates, open_pool
from mixmood.evidence.view import BASE
from mixmood.features.extract import Extractor
from mixmood.features.reading import Reading
from mixmood.features.sample import Sample
from mixmood.heads.problem import check_amount
from mixmood.ranking.judge import PoolGains, default_gains, read_first, read_labelled
from mixmood.ranking.rank import why_not_comparable
from mixmood.ssl.head import HeadTask, PoolDecision, PoolPart, labelled_task, with_pools
from mixmood.ssl.plan import AUTO, TrainingRunPlan
from mixmood.ssl.record import PoolUse

NO_POOL = "No pool was given: the supervised head is used."
ALL_LABELLED = "All images of the pool have a label: the supervised head is used."
UNKNOWN_SHARE = 0.5


def as_pools(unlabelled: Any) -> Mapping[str, Any] | Sequence[Any]:
    """What the user gave as pools: a dictionary, a list of paths of pools, or one pool.

    >>> as_pools(None), as_pools("crawl/"), as_pools(["a/", "b.zip"])
    ([], ['crawl/'], ['a/', 'b.zip'])
    >>> as_pools(["1.png", "2.png"])
    [['1.png', '2.png']]
    """
    if unlabelled is None:
        return []
    is_list = isinstance(unlabelled, list | tuple) and len(unlabelled) > 0
    are_paths = is_list and all(isinstance(one, str | os.PathLike) for one in unlabelled)
    is_several = isinstance(unlabelled, Mapping) or (are_paths and not are_image_files(unlabelled))
    return unlabelled if is_several else [unlabelled]


def head_task(
    labelled: Any,
    unlabelled: Any,
    plan: TrainingRunPlan,
    cache: FeatureCache | None,
    listener: Listener,
) -> HeadTask:
    """What a head is trained on: all sets, opened and read, and the pools that are used.

    The pools are opened before images are read: a path that does not exist is an error within a
    second. Images of the pools that are labelled or tested are left out.
    """

    def opened(what: Any, role: str) -> Pool:
        pool = open_pool(what, seed=plan.seed, cache=cache, role=role)
        for note in getattr(pool, "notes", ()):
            listener.warn(f"{pool.name}: {note}")
        return pool

    def read(pool: Pool) -> Sample:
        found = sets.extractor.read(pool)
        for text in found.warnings:
            listener.warn(f"{pool.name}: {text}")
        return found.not_empty()

    base = opened(labelled, "labelled set")
    # Checked before images are read: embedding many of them takes minutes.
    check_amount(len(base), len(needed_labels(base, "labelled set").names))
    candidates = open_candidates(as_pools(unlabelled), base, plan.seed, cache)
    sets = sets_in_view(base, candidates.pools, plan, plan.threads, cache, listener)
    sets.given.tell(listener)
    own, test = read(sets.labelled), None
    if plan.test is not None:
        test = read(scaled(opened(plan.test, "test set"), sets.pixel_range))
    task = labelled_task(own, test, sets.view, plan, listener)
    for name, reason in sets.emptied.items():
        listener.note(f"{name}: {reason}")
    why_none = ALL_LABELLED if sets.emptied else NO_POOL
    found = replace(candidates, pools=sets.unlabelled)
    readings = _readings(found, task, sets.extractor, listener, may_be_none=bool(sets.emptied))
    decision = _decided(task, readings, listener, why_none)
    return with_pools(task, decision, listener)


def _decided(
    task: HeadTask, readings: Mapping[str, Reading], listener: Listener, why_none: str
) -> PoolDecision:
    """The head and the pools to train it with."""
    plan = task.plan
    if not readings:
        return PoolDecision(BASE if plan.algorithm == AUTO else plan.algorithm, why_none)
    if plan.algorithm == AUTO:
        extractor = next(iter(readings.values())).extractor
        own = read_labelled(task.labelled.pool, plan.seed, extractor)
        return _advised(default_gains(own, readings, plan.seed, plan.groups, listener))
    parts = []
    for name, one in readings.items():
        use = PoolUse(name, len(one.pool), 0, None, "the algorithm was named")
        parts.append(PoolPart(use, one, float(len(one.pool)) if plan.algorithm != BASE else 0.0))
    return PoolDecision(plan.algorithm, "", tuple(parts))


def _readings(
    opened: OpenedCandidates,
    task: HeadTask,
    extractor: Extractor,
    listener: Listener,
    *,
    may_be_none: bool,
) -> dict[str, Reading]:
    """The first images of each pool; those without any are set aside."""
    aside, readings = dict(opened.set_aside), {}
    banned = frozenset(() if task.test is None else task.test.contents)
    for name, one in opened.pools.items():
        if why := why_not_comparable(task.labelled.pool, one):
            aside[name] = why
            continue
        reading = read_first(one, task.labelled, task.plan.seed, extractor, banned)
        if len(reading.sample):
            readings[name] = reading
        elif reading.sample.n_left_out:
            n_tried = reading.sample.n_tried
            aside[name] = f"all of its {n_tried} readable images are labelled or test images."
        else:
            aside[name] = f"it has no readable image among {reading.sample.n_tried}."
    if aside and not readings and not may_be_none:
        reasons = " ".join(f"'{name}': {reason}" for name, reason in aside.items())
        raise InputError(f"No pool can be used. {reasons}")
    for name, reason in aside.items():
        listener.warn(f"{name} is set aside: {reason}")
    return readings


def _advised(gains: PoolGains) -> PoolDecision:
    """The decision by the advice: what `rank` would use is used."""
    union = gains.answer.union
    used = union.pools if union else ()

    def part(name: str) -> PoolPart:
        reading, share = gains.pools[name], gains.parts[name].share
        useful = (UNKNOWN_SHARE if share is None else share.share) * len(reading.pool)
        advice, probe = gains.advice[name], gains.probes[name]
        gain = () if probe is None else (probe.gain, probe.interval, probe.p_helps)
        use = PoolUse(name, len(reading.pool), 0, advice.word, advice.reason, *gain)
        return PoolPart(use, reading, max(useful, 1.0) if name in used else 0.0)

    reason = gains.answer.sentence if gains.why_no_gain is None else gains.why_no_gain
    if not used:
        reason = f"{reason} The supervised head is used."
    algorithm = DEFAULT_PROBE if used else BASE
    return PoolDecision(algorithm, reason, tuple(map(part, gains.pools)))


def only_pool(unlabelled: Any) -> Any:
    """The one pool of a network; InputError if there are several."""
    pools = as_pools(unlabelled)
    if len(pools) > 1:
        names = listed([str(one) for one in pools])
        raise InputError(
            f"A network is trained with one pool; got {names}. Train a head (--model head) with "
            "all of them, or give the one that `mixmood rank` advises."
        )
    if not pools:
        return None
    return next(iter(pools.values())) if isinstance(pools, Mapping) else pools[0]
