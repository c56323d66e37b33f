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
from mixmood.data.pools.pool import ImageSource
from mixmood.features.backbones.backbone import Backbone
from mixmood.ranking.nearness import nearness
from mixmood.ranking.outlook import Outlook
from mixmood.ranking.plan import RankingPlan
from mixmood.ranking.pool_classes import one_sided, pool_class_shares
from mixmood.ranking.reading import Reading
from mixmood.ranking.rounds import Rounds
from mixmood.ranking.statistics.score import Scores
from mixmood.ranking.verdict import verdict

TOO_NEAR = (
    "its images are nearer to the labelled ones than those are to each other, as near copies or a "
    "pool of little variety would be; its distance says how much nearer."
)
GIVEN_FEATURES = "none: features were given"


@dataclass(frozen=True)
class Situation:
    """What a ranking was asked for and how it went.

    Attributes:
        asked: The plan as given.
        used: The plan as it was followed.
        backbone: What made the features; None if they were given.
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
    own = _labelled_set(labelled)
    shares = pool_class_shares(labelled, pools) or {}
    candidates = tuple(
        _candidate(pools[name], scores, outlook, plan.measure, own, shares.get(name))
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
        labelled=own,
        measure=plan.measure,
        candidates=candidates,
        best=candidates[0].name,
        verdict=verdict(scores, plan.measure),
        noise_floor=scores.noise_floor,
        warnings=tuple(f"{labelled.pool.name}: {warning}" for warning in labelled.warnings),
        notes=(*_notes(labelled, pools, situation), *([outlook.note] if outlook.note else [])),
        set_aside=tuple(SetAside(*pair) for pair in sorted(situation.set_aside.items())),
        by=outlook.by,
        recommendation=outlook.recommendation,
    )


def _notes(labelled: Reading, pools: Mapping[str, Reading], situation: Situation) -> Iterator[str]:
    """What was done other than asked, and what early stopping saved."""
    asked, used, rounds = situation.asked, situation.used, situation.rounds
    if used.sample_size < asked.sample_size:
        yield (
            f"The sample size is {used.sample_size} instead of {asked.sample_size}: each draw "
            f"takes two samples from {len(labelled.features)} labelled images."
        )
    pool = labelled.pool
    if isinstance(pool, ImageSource) and (fitted := pool.pixel_range) is not None:
        yield (
            f"Images of more than 8 bits are scaled by one range, fitted on the labelled images: "
            f"{fitted.low:g} is black and {fitted.high:g} white."
        )
    # What the probe read counts too: it is what was really read.
    n_read = sum(len(pool.features) for pool in pools.values())
    n_all = sum(pool.most for pool in pools.values())
    if asked.until is not None and used.until is None and situation.backbone is not None:
        yield (
            f"All images were read: {situation.backbone.name} makes features that depend on the "
            "batch, so that reading cannot stop early."
        )
    elif rounds.n_done < rounds.n_all and n_read < n_all:
        yield (
            f"Reading stopped early: {n_read:,} images of the pools instead of {n_all:,} settle "
            f"which is the nearest. Give --until none for all of them."
        )
    elif 1 < rounds.n_all == rounds.n_done and rounds.chance is not None and len(pools) > 1:
        yield (
            f"Near tie: {n_read:,} of {n_all:,} images of the pools were read without settling "
            "which is the nearest."
        )


def _candidate(
    reading: Reading,
    scores: Scores,
    outlook: Outlook,
    measure: str,
    labelled: LabelledSet,
    classes: dict[str, float] | None,
) -> Candidate:
    name = reading.pool.name
    own, place = scores.pools[name][measure], outlook.places[name]
    is_too_near = nearness(own, scores.noise_floor[measure]) == "nearer"
    warnings = [*reading.warnings, *([TOO_NEAR] if is_too_near else [])]
    one_class = None if classes is None else one_sided(classes, labelled)
    warnings += [one_class] if one_class else []
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
