"""The record of a finished ranking, and its result in words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mixmood.core.records.ranking import (
    SCHEMA,
    Candidate,
    LabelledSet,
    RankedDissimilarity,
    Ranking,
    SetAside,
)
from mixmood.core.text import either_form, in_percent, listed
from mixmood.core.version import __version__
from mixmood.data.images.pool import ImageSource
from mixmood.evidence.accuracy import never_predicted_warning
from mixmood.evidence.advice import Nearness, chance_words, is_foreign
from mixmood.evidence.labels import doubtful_sentence
from mixmood.evidence.share import class_probabilities, class_shares
from mixmood.evidence.view import ViewEvidence
from mixmood.features.backbones.backbone import Backbone, backbone_entry
from mixmood.features.reading import Reading
from mixmood.ranking.distance import Scores
from mixmood.ranking.judge import JudgedPools, PoolGains
from mixmood.ranking.plan import RankingPlan
from mixmood.ranking.rounds import Rounds

MOST_NAMED = 5
"""The sentence names at most so many pools; of more, it gives the number."""
RIVALS_OF_ANOTHER_KIND: dict[Nearness, tuple[str, str]] = {
    "same": ("and cannot be told apart from the labelled set",) * 2,
    "different": ("but differs from the labelled set", "but differ from the labelled set"),
    "nearer": ("but is nearer than chance allows", "but are nearer than chance allows"),
}
"""What is said of rivals that are of another kind than the nearest pool: of one, of several."""


def verdict(scores: Scores, measure: str, kinds: Mapping[str, Nearness]) -> str:
    """Which pool is the nearest, how sure that is, and whether it differs from the labelled set."""
    results = {name: found[measure] for name, found in scores.pools.items()}
    best, *others = sorted(results, key=lambda name: results[name].rank)
    own = results[best]
    if not others:
        return f"{best} {_relation(own, kinds[best])}; no other to compare."
    if set(kinds.values()) == {"same"}:
        return (
            f"None of the {len(results)} pools can be told apart from the labelled set; "
            f"{best} is the nearest ({chance_words(own.p_best)})."
        )
    join = ", but it" if kinds[best] != "same" else " and"
    chance, relation = chance_words(own.p_best), _relation(own, kinds[best])
    sentence = f"{best} is the nearest pool ({chance}){join} {relation}"
    rivals = [name for name in others if results[name].rank_interval[0] == 1]
    return f"{sentence}{_rivals(kinds[best], rivals, kinds)}."


def _relation(result: RankedDissimilarity, kind: Nearness) -> str:
    """How a pool relates to the labelled set, as the end of a sentence."""
    if kind == "same":
        return "cannot be told apart from the labelled set"
    if kind == "nearer":
        return "is nearer to the labelled set than chance allows: look for copies"
    return f"differs from the labelled set (p = {result.p_holm:.2g})"


def _rivals(best: Nearness, names: Sequence[str], kinds: Mapping[str, Nearness]) -> str:
    """The end of the sentence: the pools that may be as near as the nearest.

    A pool that differs from the labelled set is never called equal to one that does not.
    """
    alike = [name for name in names if kinds[name] == best]
    parts = [f"; {_listed(alike)} may be as near"] if alike else []
    for kind, (one, many) in RIVALS_OF_ANOTHER_KIND.items():
        found = [name for name in names if kinds[name] == kind != best]
        if found:
            parts.append(f"; {_listed(found)} may be as near {one if len(found) == 1 else many}")
    return "".join(parts)


def _listed(names: Sequence[str]) -> str:
    """Names in a sentence, or how many they are."""
    return listed(names) if len(names) <= MOST_NAMED else f"{len(names)} other pools"


MOST_CLASSIFIED = 2000
"""Labelled images on which the classifier is trained; it bounds the time."""
MOST_CLASSES = 100
"""With more classes, the classifier takes longer than all of the ranking."""
MOSTLY, TIMES = 0.6, 2.0
"""A warning is given where a class has this share of a pool, and TIMES its labelled share."""


def pool_class_shares(
    labelled: Reading, pools: Mapping[str, Reading]
) -> dict[str, dict[str, float]] | None:
    """The share of each class in each pool, by a logistic regression on the labelled images.

    None without labels, or with a single class.
    """
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
MANY_COPIES = 0.1
"""A pool with a larger share of near copies of labelled images gets a warning."""


@dataclass(frozen=True)
class Situation:
    """The options of a ranking, and what was done with them."""

    asked: RankingPlan
    used: RankingPlan
    """The plan as it was followed; see `RankingPlan.fitted`."""
    backbone: Backbone | None
    """The network that computed the features; None if they were given."""
    rounds: Rounds
    set_aside: Mapping[str, str]
    """Pools that could not be ranked, with the reason."""
    views: ViewEvidence | None = None
    """The labelled images in all views, if one was chosen on all of them."""


def ranking_record(judged: JudgedPools, scores: Scores, situation: Situation) -> Ranking:
    """The record of a ranking, pools in the order that was asked for."""
    plan = situation.used
    labelled, pools = judged.gains.labelled, judged.gains.pools
    order = sorted(pools, key=lambda name: judged.places[name].rank)
    labels = labelled.pool.labels
    classes = None if labels is None else labels.counts()
    accuracy = judged.gains.accuracy(situation.views)
    labelled_set = LabelledSet(**labelled.counts, classes=classes, accuracy=accuracy)
    shares = pool_class_shares(labelled, pools) or {}
    candidates = tuple(
        _candidate(name, judged, scores, labelled_set, shares.get(name)) for name in order
    )
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
        verdict=verdict(scores, plan.measure, judged.nearness),
        noise_floor=scores.noise_floor,
        warnings=tuple(
            f"{labelled.pool.name}: {warning}"
            for warning in (
                *labelled.warnings,
                labelled.pool.why_unlabelled,
                never_predicted_warning(
                    accuracy.never_predicted if accuracy else (), classes or {}
                ),
                _doubtful(judged.gains),
            )
            if warning
        ),
        notes=(
            *_notes(labelled, situation),
            *_reading_note(pools, scores, situation),
            *([judged.gains.why_no_gain] if judged.gains.why_no_gain else []),
        ),
        set_aside=tuple(SetAside(*pair) for pair in sorted(situation.set_aside.items())),
        by=judged.by,
        answer=judged.gains.answer.sentence,
        union=judged.gains.answer.union,
    )


def _doubtful(gains: PoolGains) -> str:
    """A sentence about the most doubtful labels; empty if there is none, or nothing is known."""
    pool, evidence = gains.labelled.pool, gains.evidence
    if pool.labels is None or not any(gains.probes.values()):
        return ""
    rows, codes = gains.labelled.sample.rows, np.asarray(evidence.codes)
    order = np.argsort(rows[: len(codes)])  # as `check` reads them: the folds are the same
    groups = evidence.groups
    return doubtful_sentence(
        evidence.features[order],
        codes[order],
        pool.labels.names,
        lambda row: pool.locate(int(rows[order[row]])),
        evidence.seed,
        None if groups is None else groups[order],
    )


def _notes(labelled: Reading, situation: Situation) -> Iterator[str]:
    """Where the sample size is not the one asked for, and how deep images were scaled."""
    asked, used = situation.asked, situation.used
    if used.sample_size < asked.sample_size:
        n_labelled = len(labelled.sample)
        is_by_labels = used.sample_size == n_labelled // 2
        why = f"each draw takes two samples from {n_labelled} labelled images"
        small = f"the smallest pool has {used.sample_size} images that can be used"
        yield (
            f"The sample size is {used.sample_size} instead of {asked.sample_size}: "
            f"{why if is_by_labels else small}."
        )
    pool = labelled.pool
    if isinstance(pool, ImageSource) and (fitted := pool.pixel_range) is not None:
        yield fitted.sentence()


WORTH_SAYING = 0.75
"""Early reading is mentioned where at most this share of the images was read."""


def _reading_note(
    pools: Mapping[str, Reading], scores: Scores, situation: Situation
) -> Iterator[str]:
    """How many images were not read, or why all were read."""
    asked, used, rounds = situation.asked, situation.used, situation.rounds
    n_read = sum(len(pool.sample) for pool in pools.values())
    n_all = sum(max(pool.most, len(pool.sample)) for pool in pools.values())
    if asked.until is not None and used.until is None and situation.backbone is not None:
        yield (
            f"All images were read: {situation.backbone.name} makes features that depend on the "
            "batch, so that reading cannot stop early."
        )
    elif rounds.n_done < rounds.n_all and n_read <= WORTH_SAYING * n_all:
        settled = "settle which is the nearest" if len(pools) > 1 else "are enough for one pool"
        of_pools = either_form(len(pools), "pool", "pools")
        yield (
            f"Reading stopped early: {n_read:,} images of the {of_pools} "
            f"instead of {n_all:,} {settled}. Give --until none for all of them."
        )
    elif 1 < rounds.n_all == rounds.n_done and used.until is not None:
        chances = [found[used.measure].p_best for found in scores.pools.values()]
        if max(chances) < used.until:
            yield (
                "Near tie: it is not clear which pool is the nearest, although all images that "
                f"could decide it were read ({n_read:,} of {n_all:,})."
            )


def _candidate(
    name: str,
    judged: JudgedPools,
    scores: Scores,
    labelled: LabelledSet,
    classes: dict[str, float] | None,
) -> Candidate:
    gains, nearness = judged.gains, judged.nearness[name]
    share, advice = gains.parts[name].share, gains.advice[name]
    warnings = [*gains.pools[name].warnings, *_too_near(scores.copied.get(name, 0.0), nearness)]
    # The classes of a foreign pool mean nothing: each image gets the least unlike class.
    if classes is not None and not is_foreign(share):
        warning = one_class_warning(classes, labelled)
        warnings += [warning] if warning else []
    return Candidate(
        **gains.pools[name].counts | vars(judged.places[name]) | {"name": name},
        measures=scores.pools[name],
        warnings=tuple(warnings),
        classes=classes,
        useful_share=share,
        probe=gains.probes[name],
        advice=advice.word,
        advice_reason=advice.reason,
        nearness=nearness,
    )


def _too_near(copied: float, nearness: Nearness) -> Iterator[str]:
    """A warning where a pool holds near copies, or is nearer than chance allows."""
    if copied >= MANY_COPIES:
        yield (
            f"{in_percent(copied)} of it are near copies of labelled images, such as other sizes "
            "or encodings of them: they teach nothing new."
        )
    elif nearness == "nearer":
        yield TOO_NEAR
