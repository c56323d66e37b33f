"""The record of a finished ranking, and its result in words."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from mixmood.core.records.ranking import SCHEMA, Candidate, LabelledSet, Ranking, SetAside
from mixmood.core.text import either_form, in_percent, listed
from mixmood.core.version import __version__
from mixmood.data.images.labels import needed_labels
from mixmood.data.images.pool import ImageSource
from mixmood.evidence.accuracy import never_predicted_warning
from mixmood.evidence.advice import Nearness, is_foreign
from mixmood.evidence.labels import doubtful_sentence
from mixmood.evidence.share import class_probabilities, class_shares
from mixmood.evidence.view import ViewEvidence
from mixmood.features.backbones.backbone import Backbone, backbone_entry
from mixmood.features.reading import Reading
from mixmood.ranking.certainty import Place
from mixmood.ranking.distance import Scores
from mixmood.ranking.judge import PoolGains, places_of
from mixmood.ranking.plan import RankingPlan
from mixmood.ranking.rounds import Rounds

MOST_NAMED = 5  # the sentence names at most so many pools; of more, it gives the number
RIVALS_OF_ANOTHER_KIND: dict[Nearness, tuple[str, str]] = {
    "same": (" and cannot be told apart from the labelled set",) * 2,
    "different": (" but differs from the labelled set", " but differ from the labelled set"),
    "nearer": (" but is nearer than chance allows", " but are nearer than chance allows"),
}
"""What is said of rivals that are of another kind than the nearest pool: of one, of several."""


def verdict(scores: Scores, measure: str, kinds: Mapping[str, Nearness]) -> str:
    """Which pool is the nearest, how sure that is, and whether it differs from the labelled set.

    A pool that differs from the labelled set is never called equal to one that does not.
    """
    results = {name: found[measure] for name, found in scores.pools.items()}
    best, *others = sorted(results, key=lambda name: results[name].rank)
    own, kind = results[best], kinds[best]
    # An estimated probability cannot show certainty.
    chance = "P > 0.99" if own.p_best > 0.99 else f"P = {own.p_best:.2f}"
    relation = {
        "same": "cannot be told apart from the labelled set",
        "nearer": "is nearer to the labelled set than chance allows: look for copies",
        "different": f"differs from the labelled set (p = {own.p_holm:.2g})",
    }[kind]
    if not others:
        return f"{best} {relation}; no other to compare."
    if set(kinds.values()) == {"same"}:
        return (
            f"None of the {len(results)} pools can be told apart from the labelled set; "
            f"{best} is the nearest ({chance})."
        )
    join = " and" if kind == "same" else ", but it"
    parts = [f"{best} is the nearest pool ({chance}){join} {relation}"]
    rivals = [name for name in others if results[name].rank_interval[0] == 1]
    for other in sorted(RIVALS_OF_ANOTHER_KIND, key=lambda one: one != kind):
        alike = [name for name in rivals if kinds[name] == other]
        names = listed(alike) if len(alike) <= MOST_NAMED else f"{len(alike)} other pools"
        but = either_form(len(alike), *RIVALS_OF_ANOTHER_KIND[other]) if other != kind else ""
        parts += [f"{names} may be as near{but}"] if alike else []
    return "; ".join(parts) + "."


MOST_CLASSIFIED, MOST_CLASSES = 2000, 100  # labelled images, and classes: they bound the time
MOSTLY, TIMES = 0.6, 2.0  # a warning of a class with this share of a pool, TIMES that of the labels


def pool_class_shares(
    labelled: Reading, pools: Mapping[str, Reading]
) -> dict[str, dict[str, float]] | None:
    """The share of each class in each pool, by a classifier; None without two classes."""
    labels, codes = labelled.pool.labels, labelled.codes
    if labels is None or codes is None or not 2 <= len(labels.names) <= MOST_CLASSES:
        return None
    codes = codes[:MOST_CLASSIFIED]
    found, sizes = np.unique(codes, return_counts=True)
    if len(found) < 2:
        return None
    rows = np.concatenate([pool.features for pool in pools.values()])
    chances = class_probabilities(labelled.features[:MOST_CLASSIFIED], codes, rows)
    ends = np.cumsum([len(pool.sample) for pool in pools.values()])
    shares = {}
    for name, own in zip(pools, np.split(chances, ends[:-1]), strict=True):
        values = np.zeros(len(labels.names))
        values[found] = class_shares(own, sizes / sizes.sum())
        shares[name] = dict(zip(labels.names, values.tolist(), strict=True))
    return shares


def one_class_warning(shares: Mapping[str, float], labelled: LabelledSet) -> str | None:
    """A warning where one class has most of a pool, and a much larger share than when labelled."""
    if not labelled.classes:
        return None
    name = max(shares, key=lambda one: shares[one])
    own = labelled.classes.get(name, 0) / max(sum(labelled.classes.values()), 1)
    share = shares[name]
    if share < max(MOSTLY, TIMES * own):
        return None
    return (
        f"most of it ({in_percent(share)}) looks like the class '{name}', which has "
        f"{in_percent(own)} of the labelled images: it can teach little about the other classes."
    )


TOO_NEAR = (
    "its images are nearer to the labelled ones than those are to each other: it may hold near "
    "copies, or images of little variety; its distance says how much nearer it is."
)
MANY_COPIES = 0.1  # a pool with a larger share of near copies of labelled images gets a warning


@dataclass(frozen=True)
class Situation:
    """The options of a ranking, and what was done with them."""

    asked: RankingPlan
    used: RankingPlan  # the plan as it was followed; see `RankingPlan.fitted`
    backbone: Backbone | None
    rounds: Rounds
    set_aside: Mapping[str, str]  # pools that could not be ranked, with the reason
    views: ViewEvidence | None = None  # labelled images in all views, if one was chosen on all


def ranking_record(gains: PoolGains, scores: Scores, situation: Situation) -> Ranking:
    """The record of a ranking, pools in the order that was asked for."""
    plan, labelled = situation.used, gains.labelled
    by, places = places_of(gains, scores, plan)
    nearness = scores.nearness(plan.measure)
    classes = None if labelled.pool.labels is None else labelled.pool.labels.counts()
    accuracy = gains.accuracy(situation.views)
    labelled_set = LabelledSet(**labelled.counts, classes=classes, accuracy=accuracy)
    candidates = tuple(_candidates(gains, scores, places, nearness, labelled_set))
    return Ranking(
        schema=SCHEMA,
        mixmood=__version__,
        seed=plan.seed,
        backbone=backbone_entry(situation.backbone) | {"width": labelled.features.shape[1]},
        sample_size=plan.sample_size,
        draws=plan.draws,
        paper=plan.paper,
        labelled=labelled_set,
        measure=plan.measure,
        candidates=candidates,
        best=candidates[0].name,
        verdict=verdict(scores, plan.measure, nearness),
        noise_floor=scores.noise_floor,
        warnings=_warnings(gains, labelled_set),
        notes=tuple(_notes(gains, scores, situation)),
        set_aside=tuple(SetAside(*pair) for pair in sorted(situation.set_aside.items())),
        by=by,
        answer=gains.answer.sentence,
        union=gains.answer.union,
    )


def _candidates(
    gains: PoolGains,
    scores: Scores,
    places: Mapping[str, Place],
    nearness: Mapping[str, Nearness],
    labelled: LabelledSet,
) -> Iterator[Candidate]:
    """The results of each pool, in their order."""
    shares = pool_class_shares(gains.labelled, gains.pools) or {}
    for name in sorted(gains.pools, key=lambda name: places[name].rank):
        share, advice, reading = gains.parts[name].share, gains.advice[name], gains.pools[name]
        classes, mostly = shares.get(name), None
        # The classes of a foreign pool mean nothing: each image gets the least unlike class.
        if classes is not None and not is_foreign(share):
            mostly = one_class_warning(classes, labelled)
        near = _too_near(scores.copied.get(name, 0.0), nearness[name])
        yield Candidate(
            **reading.counts | vars(places[name]) | {"name": name},
            measures=scores.pools[name],
            warnings=tuple(filter(None, (*reading.warnings, near, mostly))),
            classes=classes,
            useful_share=share,
            probe=gains.probes[name],
            advice=advice.word,
            advice_reason=advice.reason,
            nearness=nearness[name],
        )


def _warnings(gains: PoolGains, labelled: LabelledSet) -> tuple[str, ...]:
    """What may be wrong with the labelled images; of doubtful labels, where gains were measured."""
    pool, doubtful = gains.labelled.pool, ""
    never = labelled.accuracy.never_predicted if labelled.accuracy else ()
    if gains.in_order is not None:
        rows, own = gains.in_order
        doubtful = doubtful_sentence(
            own.features,
            np.asarray(own.codes),
            needed_labels(pool).names,
            lambda row: pool.locate(int(rows[row])),
            own.seed,
            own.groups,
        )
    never_right = never_predicted_warning(never, labelled.classes or {})
    found = (*gains.labelled.warnings, pool.why_unlabelled, never_right, doubtful)
    return tuple(f"{pool.name}: {text}" for text in found if text)


WORTH_SAYING = 0.75  # early reading is mentioned where at most this share of the images was read


def _notes(gains: PoolGains, scores: Scores, situation: Situation) -> Iterator[str]:
    """Where the ranking differs from what was asked for, and how many images were not read."""
    asked, used, rounds = situation.asked, situation.used, situation.rounds
    labelled, pools = gains.labelled, gains.pools.values()
    if used.sample_size < asked.sample_size:
        n_labelled = len(labelled.sample)
        is_by_labels = used.sample_size == n_labelled // 2
        why = f"each draw takes two samples from {n_labelled} labelled images"
        small = f"the smallest pool has {used.sample_size} images that can be used"
        yield (
            f"The sample size is {used.sample_size} instead of {asked.sample_size}: "
            f"{why if is_by_labels else small}."
        )
    if isinstance(labelled.pool, ImageSource) and (fitted := labelled.pool.pixel_range) is not None:
        yield fitted.sentence()
    n_read = sum(len(pool.sample) for pool in pools)
    n_all = sum(max(pool.most, len(pool.sample)) for pool in pools)
    p_best = max(found[used.measure].p_best for found in scores.pools.values())
    if asked.until is not None and used.until is None and situation.backbone is not None:
        yield (
            f"All images were read: {situation.backbone.name} makes features that depend on the "
            "batch, so that reading cannot stop early."
        )
    elif rounds.n_done < rounds.n_all and n_read <= WORTH_SAYING * n_all:
        settled = "settle which is the nearest" if len(pools) > 1 else "are enough for one pool"
        yield (
            f"Reading stopped early: {n_read:,} images of the "
            f"{either_form(len(pools), 'pool', 'pools')} instead of {n_all:,} {settled}. Give "
            "--until none for all of them."
        )
    elif 1 < rounds.n_all == rounds.n_done and p_best < (used.until or 0):
        yield (
            "Near tie: it is not clear which pool is the nearest, although all images that could "
            f"decide it were read ({n_read:,} of {n_all:,})."
        )
    if gains.why_no_gain is not None:
        yield gains.why_no_gain


def _too_near(copied: float, nearness: Nearness) -> str:
    """A warning where a pool holds near copies, or is nearer than chance allows; else nothing."""
    if copied >= MANY_COPIES:
        return (
            f"{in_percent(copied)} of it are near copies of labelled images, such as other sizes "
            "or encodings of them: they teach nothing new."
        )
    return TOO_NEAR if nearness == "nearer" else ""
