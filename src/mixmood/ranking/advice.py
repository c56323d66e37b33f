"""What to do with a pool: the rules, all of them.

They join three findings: the probe (what the pool gains), the useful share (how much of it looks
like the labelled classes) and the distance. `docs/reading.md` says the same in words.
"""

from dataclasses import dataclass
from typing import Literal

from mixmood.core.records.ranking import Probe
from mixmood.core.records.useful_share import ShareRecord
from mixmood.ranking.nearness import Nearness

Advice = Literal["use", "filter", "avoid", "unsure"]

HELPS, HARMS = 0.7, 0.2
"""`p_helps` from which a pool is used, and to which it is avoided.

Chosen on development tasks, by a map that was fitted without the pack at hand: at 60 labels, 3 of
54 pools to use harm by more than half a point, and 33 of 51 that gain two points or more are to be
used; at 0.75, 2 of 43 and 26 of 51. (Images that are laid over each other are left out here.)
"""
LEAST_RIGHT = 62.5
"""Percent of the labelled images that are right without a pool. Development tasks below it have
images laid over each other: 5 of 10 pools that would be used harm, and none gains two points."""
FEWEST_HELD_OUT = 16
"""Labelled images that a gain has to be measured on; the map was fitted on twenty and more."""
LEAST_GAIN = 0.5
"""Points below which a gain is not worth a pool."""
MOSTLY_USEFUL, HARDLY_USEFUL = 0.8, 0.1
"""Useful shares from which nothing has to be filtered out, and to which nothing is left."""


Cause = Literal["gain", "share", "copies", "labels", "nothing"]


@dataclass(frozen=True)
class PoolAdvice:
    """What to do, and why in one sentence.

    Attributes:
        word: The advice.
        reason: The numbers behind it; what decides comes first.
        cause: What decides: the gain, the useful share, near copies, labelled images that gains
            cannot be measured on, or nothing, as there is no measurement but the distance.
    """

    word: Advice
    reason: str
    cause: Cause = "gain"


def advise(probe: Probe | None, share: ShareRecord | None, kind: Nearness) -> PoolAdvice:
    """The advice for one pool; without a probe it is never "use".

    In this order:

    1. Near copies of the labelled images teach nothing: unsure.
    2. The supervised head is no better than chance, or right in less than 62.5 %, or fewer than
       sixteen labelled images can be held out: unsure.
    3. The probe is sure that the pool helps, by half a point or more: use.
    4. A part of the pool is useful, but not most of it: filter.
    5. The probe is sure that it harms, or hardly anything in it is useful: avoid.
    6. Otherwise: unsure.
    """
    if kind == "nearer":
        return PoolAdvice("unsure", "it is nearer to the labelled set than chance allows", "copies")
    if probe is not None and not probe.is_learnable:
        return PoolAdvice(
            "unsure",
            f"without a pool, {probe.accuracy:.0f} % of the labelled images are classified "
            "rightly, no better than chance",
            "labels",
        )
    if probe is not None and (probe.n_held_out or FEWEST_HELD_OUT) < FEWEST_HELD_OUT:
        return PoolAdvice(
            "unsure",
            f"only {probe.n_held_out} labelled images can be held out, and {FEWEST_HELD_OUT} are "
            "wanted",
            "labels",
        )
    if probe is not None and probe.accuracy < LEAST_RIGHT:
        return PoolAdvice(
            "unsure",
            f"without a pool, {probe.accuracy:.0f} % of the labelled images are classified "
            f"rightly; below {LEAST_RIGHT:g} % even similar images often harm",
            "labels",
        )
    gain, useful = _gain_words(probe), _share_words(share)
    if probe is not None and probe.p_helps >= HELPS and probe.gain >= LEAST_GAIN:
        return PoolAdvice("use", _joined(gain, useful))
    if share is not None and _is_partly_useful(share):
        return PoolAdvice("filter", _joined(useful, gain), "share")
    if probe is not None and probe.p_helps <= HARMS:
        return PoolAdvice("avoid", _joined(gain, useful))
    if share is not None and share.interval[1] <= 2 * HARDLY_USEFUL:
        return PoolAdvice("avoid", _joined(f"too little to use: {useful}", gain), "share")
    if not gain and not useful:
        return PoolAdvice("unsure", "nothing was measured but the distance", "nothing")
    return PoolAdvice("unsure", _joined(gain, useful))


def _is_partly_useful(share: ShareRecord) -> bool:
    return HARDLY_USEFUL < share.share < MOSTLY_USEFUL and share.interval[0] > 0


def _gain_words(probe: Probe | None) -> str:
    if probe is None:
        return ""
    low, high = probe.interval
    return (
        f"gain {probe.gain:+.1f} points ({low:+.1f} to {high:+.1f}), "
        f"P(helps) {_chance(probe.p_helps)}"
    )


def _share_words(share: ShareRecord | None) -> str:
    if share is None:
        return ""
    low, high = share.interval
    return f"{share.share:.0%} of it useful ({low:.0%} to {high:.0%})"


def _chance(value: float) -> str:
    """A probability; an estimated error cannot show certainty."""
    return "> 0.99" if value > 0.99 else "< 0.01" if value < 0.01 else f"{value:.2f}"


def _joined(*findings: str) -> str:
    """What decides comes first."""
    return "; ".join(words for words in findings if words)
