"""The record of a finished ranking."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mixmood.core.records.ranking import (
    SCHEMA,
    Candidate,
    LabelledSet,
    Ranking,
    SetAside,
)
from mixmood.core.version import __version__
from mixmood.core.words import either_form
from mixmood.data.images.pool import ImageSource
from mixmood.evidence.advice import is_foreign
from mixmood.features.backbones.backbone import Backbone
from mixmood.ranking.outlook import Outlook
from mixmood.ranking.plan import RankingPlan
from mixmood.ranking.pool_classes import one_class_warning, pool_class_shares
from mixmood.ranking.reading import Reading
from mixmood.ranking.rounds import Rounds
from mixmood.ranking.statistics.score import Scores
from mixmood.ranking.verdict import verdict

TOO_NEAR = (
    "its images are nearer to the labelled ones than those are to each other: it may hold near "
    "copies, or images of little variety; its distance says how much nearer it is."
)
MANY_COPIES = 0.1
"""A pool with a larger share of near copies of labelled images gets a warning."""
GIVEN_FEATURES = "none: features were given"


@dataclass(frozen=True)
class Situation:
    """The options of a ranking, and what was done with them.

    Attributes:
        asked: The plan as given.
        used: The plan as it was followed; see `RankingPlan.fitted`.
        backbone: The network that computed the features; None if they were given.
        rounds: How far the pools were read.
        set_aside: Pools that could not be ranked, with the reason.
    """

    asked: RankingPlan
    used: RankingPlan
    backbone: Backbone | None
    rounds: Rounds
    set_aside: Mapping[str, str]


def ranking_record(
    labelled: Reading,
    pools: Mapping[str, Reading],
    scores: Scores,
    outlook: Outlook,
    situation: Situation,
) -> Ranking:
    """The record of a ranking, pools in the order that was asked for."""
    plan, backbone = situation.used, situation.backbone
    order = sorted(pools, key=lambda name: outlook.places[name].rank)
    labelled_set = _labelled_set(labelled)
    shares = pool_class_shares(labelled, pools) or {}
    candidates = tuple(
        _candidate(pools[name], scores, outlook, plan.measure, labelled_set, shares.get(name))
        for name in order
    )
    width = labelled.features.shape[1]
    return Ranking(
        schema=SCHEMA,
        mixmood=__version__,
        seed=plan.seed,
        backbone=backbone.describe() if backbone else {"name": GIVEN_FEATURES, "width": width},
        sample_size=plan.sample_size,
        draws=plan.draws,
        paper=plan.paper,
        labelled=labelled_set,
        measure=plan.measure,
        candidates=candidates,
        best=candidates[0].name,
        verdict=verdict(scores, plan.measure),
        noise_floor=scores.noise_floor,
        warnings=tuple(
            f"{labelled.pool.name}: {warning}"
            for warning in (*labelled.warnings, labelled.pool.why_unlabelled)
            if warning
        ),
        notes=(
            *_notes(labelled, situation),
            *_reading_note(pools, scores, situation),
            *([outlook.note] if outlook.note else []),
        ),
        set_aside=tuple(SetAside(*pair) for pair in sorted(situation.set_aside.items())),
        by=outlook.by,
        recommendation=outlook.recommendation,
    )


def _notes(labelled: Reading, situation: Situation) -> Iterator[str]:
    """Where the sample size is not the one asked for, and how deep images were scaled."""
    asked, used = situation.asked, situation.used
    if used.sample_size < asked.sample_size:
        yield (
            f"The sample size is {used.sample_size} instead of {asked.sample_size}: each draw "
            f"takes two samples from {len(labelled.features)} labelled images."
        )
    pool = labelled.pool
    if isinstance(pool, ImageSource) and (fitted := pool.pixel_range) is not None:
        yield fitted.sentence()


def _reading_note(
    pools: Mapping[str, Reading], scores: Scores, situation: Situation
) -> Iterator[str]:
    """How many images were not read, or why all were read."""
    asked, used, rounds = situation.asked, situation.used, situation.rounds
    n_read = sum(len(pool.features) for pool in pools.values())
    n_all = sum(max(pool.most, len(pool.features)) for pool in pools.values())
    if asked.until is not None and used.until is None and situation.backbone is not None:
        yield (
            f"All images were read: {situation.backbone.name} makes features that depend on the "
            "batch, so that reading cannot stop early."
        )
    elif rounds.n_done < rounds.n_all and n_read < n_all:
        settled = "settle which is the nearest" if len(pools) > 1 else "are enough for one pool"
        of_pools = either_form(len(pools), "pool", "pools")
        yield (
            f"Reading stopped early: {n_read:,} images of the {of_pools} "
            f"instead of {n_all:,} {settled}. Give --until none for all of them."
        )
    elif 1 < rounds.n_all == rounds.n_done and not _is_settled(scores, used):
        yield (
            "Near tie: it is not clear which pool is the nearest, although all images that could "
            f"decide it were read ({n_read:,} of {n_all:,})."
        )


def _is_settled(scores: Scores, plan: RankingPlan) -> bool:
    """Whether the nearest pool is the nearest with the probability that was asked for."""
    chances = [found[plan.measure].p_best or 0.0 for found in scores.pools.values()]
    return plan.until is None or max(chances) >= plan.until


def _candidate(
    reading: Reading,
    scores: Scores,
    outlook: Outlook,
    measure: str,
    labelled: LabelledSet,
    classes: dict[str, float] | None,
) -> Candidate:
    name = reading.pool.name
    place = outlook.places[name]
    warnings = [*reading.warnings, *_too_near(scores, measure, name)]
    # The classes of a foreign pool mean nothing: each image gets the least unlike class.
    if classes is not None and not is_foreign(outlook.shares[name]):
        warning = one_class_warning(classes, labelled)
        warnings += [warning] if warning else []
    return Candidate(
        rank=place.rank,
        name=name,
        n_images=len(reading.pool),
        n_unreadable=reading.n_unreadable,
        n_read=len(reading.features),
        fingerprint=reading.pool.fingerprint,
        measures=scores.pools[name],
        p_best=place.p_best,
        rank_interval=place.rank_interval,
        warnings=tuple(warnings),
        n_distinct=reading.n_distinct,
        classes=classes,
        useful_share=outlook.shares[name],
        probe=outlook.probes[name],
        advice=outlook.advice[name].word,
        advice_reason=outlook.advice[name].reason,
    )


def _too_near(scores: Scores, measure: str, name: str) -> Iterator[str]:
    """A warning where a pool holds near copies, or is nearer than chance allows."""
    copied = scores.copied.get(name, 0.0)
    if copied >= MANY_COPIES:
        yield (
            f"{copied:.0%} of it are near copies of labelled images, such as other sizes or "
            "encodings of them: they teach nothing new."
        )
    elif scores.nearness(measure)[name] == "nearer":
        yield TOO_NEAR


def _labelled_set(reading: Reading) -> LabelledSet:
    labels = reading.pool.labels
    return LabelledSet(
        name=reading.pool.name,
        n_images=len(reading.pool),
        n_unreadable=reading.n_unreadable,
        n_read=len(reading.features),
        fingerprint=reading.pool.fingerprint,
        classes=None if labels is None else labels.counts(),
        n_distinct=reading.n_distinct,
    )
