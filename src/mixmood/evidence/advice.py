"""What to do with a pool, and with all pools of a ranking: the rules, in one place."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from mixmood.core.records.filtering import GainInterval
from mixmood.core.records.ranking import Dissimilarity, NoiseFloor, Probe, ShareRecord, Union
from mixmood.core.text import counted, either_form, listed

Nearness = Literal["same", "nearer", "different"]
MOSTLY_COPIES = 0.5


def nearness(result: Dissimilarity, floor: NoiseFloor, copied: float = 0.0) -> Nearness:
    """How a pool relates to the labelled set by one measure.

    - "nearer": its images are nearer to the labelled ones than those are to each other, by more
      than the noise floor, as in pools of little variety; or most of them are near copies of
      labelled images (`copied` is the share of those).
    - "different": the permutation test, corrected for the number of pools, shows a difference.
    - "same": it cannot be told apart from the labelled set.
    """
    is_below = result.signed < 0 and result.distance > floor.upper
    if is_below or copied >= MOSTLY_COPIES:
        return "nearer"
    return "different" if result.is_different else "same"


Advice = Literal["use", "filter", "avoid", "unsure"]

HELPS, HARMS = 0.55, 0.2
"""A pool is used where `p_helps` is at least HELPS, and avoided where it is at most HARMS.

Chosen with LEAST_GAIN on development tasks with 20, 60 and 150 labels, so that at most 3 % of the
pools that are used harm by more than half a point; the map was fitted without the data set of the
task. At 0.55 and 0.25 points, 178 pools are used, of which 1 harms, and 71 of the 95 that gain a
point or more; they gain 233 points in all. At 0.6 and 0.5 it is 83, 1, 57 and 179. Tasks made of
overlaid images are not counted here (`python -m benchmarks.probe.rule`)."""
LEAST_RIGHT = 62.5
"""Percent of the labelled images that must be classified correctly without a pool.

The development tasks below it are made of overlaid images. In them, 4 of 22 pools that would be
used harm by more than half a point."""
FEWEST_HELD_OUT, FEWEST_POOL = 16, 30
"""A gain must be measured on so many labelled images, and with so many images of the pool; the map
was fitted on twenty and more, and on a thousand."""
LEAST_GAIN = 0.25  # no pool is used for fewer points, unless only a part of it is useful
MOST_LOST = 0.5  # pools are used together if that costs fewer points against the best alone
MOSTLY_USEFUL, HARDLY_USEFUL = 0.8, 0.1  # a pool is filtered if its useful share is between these
FOREIGN = 0.2  # a pool is foreign where the whole interval of its useful share is at or below this


Cause = Literal["gain", "share", "copies", "labels", "nothing"]


@dataclass(frozen=True)
class PoolAdvice:
    """What to do, and why in one sentence; the deciding number comes first."""

    word: Advice
    reason: str
    cause: Cause = "gain"  # what decides; "labels" are those on which no gain can be measured
    share: float = 0.0  # the useful share of a pool that is to be filtered, otherwise 0


def advise(probe: Probe | None, share: ShareRecord | None, copied: float = 0.0) -> PoolAdvice:
    """The advice for one pool; without a probe it is never "use".

    In this order:

    1. Near copies of the labelled images teach nothing: unsure.
    2. The supervised head is no better than chance, or correct on less than 62.5 % of the images,
       or fewer than sixteen labelled images can be held out: unsure.
    3. The pool has fewer than thirty images: unsure.
    4. The pool probably helps, by a quarter of a point or more, and is not foreign: use.
    5. A part of the pool is useful, but not most of it: filter.
    6. The probe is sure that the pool harms, or hardly anything in it is useful: avoid.
    7. Otherwise: unsure.
    """
    if copied >= MOSTLY_COPIES:
        return PoolAdvice("unsure", "most of it are near copies of labelled images", "copies")
    if probe is not None and (why := _why_unusable(probe)):
        return PoolAdvice("unsure", why, "labels")
    gain, useful = _gain_words(probe), _share_words(share)
    if probe is not None and probe.n_pool < FEWEST_POOL:
        few = f"{counted(probe.n_pool, 'image')} tell too little about a gain"
        return PoolAdvice("unsure", _joined(few, gain))
    is_gain = probe is not None and probe.p_helps >= HELPS and probe.gain >= LEAST_GAIN
    if is_gain and not is_foreign(share):
        return PoolAdvice("use", _joined(gain, useful))
    is_partly = share is not None and HARDLY_USEFUL < share.share < MOSTLY_USEFUL
    if share is not None and is_partly and share.interval[0] > 0:
        return PoolAdvice("filter", _joined(useful, gain), "share", share.share)
    if probe is not None and probe.p_helps <= HARMS:
        return PoolAdvice("avoid", _joined(gain, useful))
    if is_foreign(share):
        return PoolAdvice("avoid", _joined(f"too little to use: {useful}", gain), "share")
    if not gain and not useful:
        return PoolAdvice("unsure", "nothing was measured but the distance", "nothing")
    return PoolAdvice("unsure", _joined(gain, useful))


def _why_unusable(probe: Probe) -> str:
    """Why no gain can be measured on the labelled images, if none can."""
    if not probe.is_learnable:
        return "without a pool, the labelled images are classified no better than by chance"
    if probe.n_held_out is not None and probe.n_held_out < FEWEST_HELD_OUT:
        return (
            f"only {probe.n_held_out} labelled images can be held out, and {FEWEST_HELD_OUT} are "
            "needed"
        )
    if probe.accuracy < LEAST_RIGHT:
        return (
            "too few of the labelled images are classified correctly without a pool; below "
            f"{LEAST_RIGHT:g} % even similar images often harm"
        )
    return ""


def is_foreign(share: ShareRecord | None) -> bool:
    """Whether hardly anything in a pool looks like the labelled classes."""
    return share is not None and share.interval[1] <= FOREIGN


def _gain_words(probe: Probe | None) -> str:
    if probe is None:
        return ""
    low, high = probe.interval
    is_near = abs(probe.gain - LEAST_GAIN) < 0.1
    return (
        f"gain {probe.gain:{'+.2f' if is_near else '+.1f'}} points ({low:+.1f} to {high:+.1f}), "
        f"P(helps) {chance(probe.p_helps, HELPS, HARMS)}"
    )


def _share_words(share: ShareRecord | None) -> str:
    if share is None:
        return ""
    low, high = (100 * end for end in share.interval)
    value = _beside(100 * share.share, ".0f", 100 * MOSTLY_USEFUL, 100 * HARDLY_USEFUL)
    return f"{value} % of it useful ({low:.0f} to {high:.0f})"


def chance(value: float, *thresholds: float) -> str:
    """A probability with two digits; an estimated error cannot show certainty."""
    if value > 0.99:
        return "> 0.99"
    return "< 0.01" if value < 0.01 else _beside(value, ".2f", *thresholds)


def _beside(value: float, form: str, *thresholds: float) -> str:
    """A rounded number that still shows on which side of a threshold the value lies.

    >>> _beside(0.6984, ".2f", 0.7), _beside(0.7, ".2f", 0.7), _beside(0.704, ".2f", 0.7)
    ('just below 0.70', '0.70', 'just above 0.70')
    """
    text = format(value, form)
    for threshold in thresholds:
        if value != threshold and text == format(threshold, form):
            return f"just {'below' if value < threshold else 'above'} {text}"
    return text


def _joined(*findings: str) -> str:
    return "; ".join(words for words in findings if words)


NOT_MEASURED = "the gain of the pools was not measured"
NO_CLASSES = "without classes, the gain of a pool cannot be measured"


@dataclass(frozen=True)
class Answer:
    """What to do, for the whole ranking: a sentence, and the pools to train with, if any."""

    sentence: str
    union: Union | None = None


def answer(
    advice: Mapping[str, PoolAdvice],
    probes: Mapping[str, Probe | None],
    together: Callable[[tuple[str, ...]], Probe],
    why_not_probed: str = NOT_MEASURED,
) -> Answer:
    """Which pools to use together, or which to filter, or why none.

    All pools of the advice "use" are used `together`, and the useful part of those of "filter" if
    it probably helps (the head counts each image by its chance to be useful), unless the best of
    them alone is expected to gain more by MOST_LOST.
    """
    known = {name: probe for name, probe in probes.items() if probe is not None}
    gains = {name: -known[name].gain if name in known else 0.0 for name in advice}
    by_gain = sorted(advice, key=lambda name: (gains[name], -advice[name].share, name))
    partly = [name for name in by_gain if advice[name].word == "filter"]
    likely = {name for name in partly if name in known and known[name].p_helps >= HELPS}
    useful = [name for name in by_gain if name in likely or advice[name].word == "use"]
    if useful:
        pools: tuple[str, ...] = (useful[0],)
        probe = known[useful[0]]
        if len(useful) > 1:
            union = together(tuple(useful))
            if union.gain > probe.gain - MOST_LOST:
                pools, probe = tuple(useful), union
        words = [f"the useful part of {one}" if one in partly else one for one in pools]
        names = listed(words) + (" together" if len(words) > 1 else "")
        worth = ""
        if probe.worth is not None:
            low, high = probe.worth.interval
            span = f"{low} or more" if high is None else f"{low} to {high}"
            worth = f", worth about {counted(probe.worth.labels, 'more label')} ({span})"
        return Answer(f"Use {names}: {expected(probe)}{worth}.", Union(pools, probe))
    if partly:
        return Answer(f"Filter {partly[0]} first: {advice[partly[0]].reason}.")
    if known and all(one.word == "avoid" for one in advice.values()):
        return Answer(f"Use no pool: {_why_avoided(advice)}.")
    return Answer(f"No pool is advised: {_why_unsure(advice) if known else why_not_probed}.")


def _why_avoided(advice: Mapping[str, PoolAdvice]) -> str:
    causes, is_one = {one.cause for one in advice.values()}, len(advice) == 1
    if causes == {"share"}:
        return f"hardly anything in {'it' if is_one else 'them'} looks like the labelled classes"
    if "share" in causes:
        return (
            "each is expected to make the model worse, or holds hardly anything that looks like "
            "the labelled classes"
        )
    return f"{'it is' if is_one else 'all are'} expected to make the model worse"


def _why_unsure(advice: Mapping[str, PoolAdvice]) -> str:
    """Why no pool can be advised although their gains were measured."""
    for one in advice.values():
        if one.cause == "labels":
            return one.reason  # the labelled images are the same for all pools
    copies = [name for name, one in advice.items() if one.cause == "copies"]
    are = either_form(len(copies), "is", "are")
    of_copies = f"{listed(copies)} {are} made of near copies of labelled images"
    if len(copies) == len(advice):
        return of_copies
    if copies:
        return f"{of_copies}, and none of the others is sure to help"
    return "it is not sure to help" if len(advice) == 1 else "none of them is sure to help"


def expected(gain: Probe | GainInterval) -> str:
    """A gain in a sentence, with its interval and the chance that it is one."""
    low, high = gain.interval
    chance = f"{percent(gain.p_helps)} likely to help"
    return f"{gain.gain:+.1f} points expected ({low:+.1f} to {high:+.1f}), {chance}"


def percent(chance: float) -> str:
    """A probability in percent; an estimate cannot show certainty.

    >>> percent(0.812), percent(0.999), percent(0.001)
    ('81 %', '> 99 %', '< 1 %')
    """
    if chance > 0.99:
        return "> 99 %"
    return "< 1 %" if chance < 0.01 else f"{100 * chance:.0f} %"
