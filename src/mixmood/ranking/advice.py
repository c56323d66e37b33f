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

HELPS, HARMS = 0.9, 0.1
"""`p_helps` from which a pool is used, and to which it is avoided."""
LEAST_GAIN = 0.5
"""Points below which a gain is not worth a pool."""
MOSTLY_USEFUL, HARDLY_USEFUL = 0.8, 0.1
"""Useful shares from which nothing has to be filtered out, and to which nothing is left."""


@dataclass(frozen=True)
class PoolAdvice:
    """What to do, and why in one sentence."""

    word: Advice
    reason: str


def advise(probe: Probe | None, share: ShareRecord | None, kind: Nearness) -> PoolAdvice:
    """The advice for one pool; without a probe it is never "use".

    In this order:

    1. Near copies of the labelled images teach nothing: unsure.
    2. The supervised head is no better than chance: nothing can be measured, unsure.
    3. The probe is sure that the pool helps, by half a point or more: use.
    4. A part of the pool is useful, but not most of it: filter.
    5. The probe is sure that it harms, or hardly anything in it is useful: avoid.
    6. Otherwise: unsure.
    """
    if kind == "nearer":
        return PoolAdvice("unsure", "it is nearer to the labelled set than chance allows")
    if probe is not None and not probe.is_learnable:
        return PoolAdvice(
            "unsure",
            f"without a pool, {probe.accuracy:.0f} % of the labelled images are classified "
            "rightly, no better than chance",
        )
    words = ", ".join(_findings(probe, share))
    if probe is not None and probe.p_helps >= HELPS and probe.gain >= LEAST_GAIN:
        return PoolAdvice("use", words)
    if share is not None and _is_partly_useful(share):
        return PoolAdvice("filter", words)
    if probe is not None and probe.p_helps <= HARMS:
        return PoolAdvice("avoid", words)
    if share is not None and share.interval[1] <= 2 * HARDLY_USEFUL:
        return PoolAdvice("avoid", words)
    return PoolAdvice("unsure", words or "nothing was measured but the distance")


def _is_partly_useful(share: ShareRecord) -> bool:
    return HARDLY_USEFUL < share.share < MOSTLY_USEFUL and share.interval[0] > 0


def _findings(probe: Probe | None, share: ShareRecord | None) -> list[str]:
    """The numbers that an advice rests on, in words."""
    found = []
    if probe is not None:
        low, high = probe.interval
        found.append(
            f"{probe.algorithm} gains {probe.gain:+.1f} points ({low:+.1f} to {high:+.1f}), "
            f"P(helps) {probe.p_helps:.2f}"
        )
    if share is not None:
        low, high = share.interval
        found.append(f"about {share.share:.0%} of it is useful ({low:.0%} to {high:.0%})")
    return found
