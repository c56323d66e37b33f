"""The advice for a whole ranking: one pool, two together, or none."""

from collections.abc import Callable, Mapping
from itertools import combinations

from mixmood.core.records.ranking import LabelWorth, Probe, Recommendation
from mixmood.ranking.advice import PoolAdvice

CLEARLY = 0.5
"""Points by which the union of two pools must probe better than the better one."""
N_TRIED = 3
"""Pools with the highest gains whose pairs are tried."""


def recommend(
    advice: Mapping[str, PoolAdvice],
    probes: Mapping[str, Probe | None],
    union: Callable[[tuple[str, str]], Probe] | None,
    why_not_probed: str = "what a pool gains was not measured.",
) -> Recommendation:
    """Which pool to use, or which two together; or that none is advised.

    Args:
        advice: The advice for each pool.
        probes: The probe of each pool; None without classes.
        union: Probes two pools together; None without classes.
        why_not_probed: The end of the sentence where there are no probes.
    """
    known = {name: probe for name, probe in probes.items() if probe is not None}
    useful = [name for name in known if advice[name].word == "use"]
    useful.sort(key=lambda name: (-known[name].gain, name))
    if useful:
        best: tuple[str, ...] = (useful[0],)
        found = known[useful[0]]
        for pair in combinations(useful[:N_TRIED], 2):
            both = union(pair) if union else found
            if both.gain > max(found.gain, known[useful[0]].gain + CLEARLY):
                best, found = pair, both
        return Recommendation(
            best, found.gain, found.interval, found.p_helps, _sentence(best, found)
        )
    partly = [name for name in advice if advice[name].word == "filter"]
    partly.sort(key=lambda name: (-known[name].gain if name in known else 0.0, name))
    if partly:
        return Recommendation(
            (partly[0],), None, None, None,
            f"Filter {partly[0]} first: {advice[partly[0]].reason}.",
        )  # fmt: skip
    if known and all(one.word == "avoid" for one in advice.values()):
        words = "Use no pool: " + ("it is" if len(advice) == 1 else "all are")
        return Recommendation((), None, None, None, f"{words} expected to make the model worse.")
    return Recommendation(
        (), None, None, None,
        "No pool is advised: " + ("none of them is sure to help." if known else
        why_not_probed),
    )  # fmt: skip


def _sentence(pools: tuple[str, ...], probe: Probe) -> str:
    low, high = probe.interval
    worth = f", worth about {_worth(probe.worth)}" if probe.worth else ""
    together = " and ".join(pools) + (" together" if len(pools) > 1 else "")
    chance = "> 0.99" if probe.p_helps > 0.99 else f"= {probe.p_helps:.2f}"
    return (
        f"Use {together}: {probe.gain:+.1f} points expected ({low:+.1f} to {high:+.1f}, "
        f"P {chance}){worth}, for a {probe.algorithm} head on these features."
    )


def _worth(worth: LabelWorth) -> str:
    low, high = worth.interval
    span = f"{low} or more" if high is None else f"{low} to {high}"
    return f"{worth.labels} more labels ({span})"
