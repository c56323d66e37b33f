"""The advice for a whole ranking: one pool, two together, or none."""

from collections.abc import Callable, Mapping
from itertools import combinations

from mixmood.core.records.ranking import LabelWorth, Probe, Recommendation
from mixmood.core.words import counted, either_form, listed
from mixmood.ranking.advice import PoolAdvice

CLEARLY = 0.5
"""Points by which the gain of two pools together must exceed that of the better one."""
N_TRIED = 3
"""Only pairs of the pools with the highest gains are tried: so many pools."""
NOT_MEASURED = "the gain of the pools was not measured"


def recommend(
    advice: Mapping[str, PoolAdvice],
    probes: Mapping[str, Probe | None],
    union: Callable[[tuple[str, str]], Probe] | None,
    why_not_probed: str = NOT_MEASURED,
) -> Recommendation:
    """Which pool to use, or which two together; or that none is advised.

    Args:
        advice: The advice for each pool.
        probes: The probe of each pool; None without classes.
        union: Probes two pools together; None without classes.
        why_not_probed: The reason where there are no probes.
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
        why = f"Use no pool: {_why_avoided(advice)}."
    else:
        why = f"No pool is advised: {_why_unsure(advice) if known else why_not_probed}."
    return Recommendation((), None, None, None, why)


def _why_avoided(advice: Mapping[str, PoolAdvice]) -> str:
    """Why every pool is to be avoided: its gain, or its useful share."""
    causes = {one.cause for one in advice.values()}
    is_one = len(advice) == 1
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
    n_others = len(advice) - len(copies)
    parts = []
    if copies:
        are = either_form(len(copies), "is", "are")
        parts.append(f"{listed(copies)} {are} nearer to the labelled set than chance allows")
    if n_others:
        others = "of the others" if copies else "of them"
        parts.append(
            "it is not sure to help" if len(advice) == 1 else f"none {others} is sure to help"
        )
    return ", and ".join(parts)


def _sentence(pools: tuple[str, ...], probe: Probe) -> str:
    low, high = probe.interval
    worth = f", worth about {_worth(probe.worth)}" if probe.worth else ""
    together = listed(pools) + (" together" if len(pools) > 1 else "")
    chance = "> 0.99" if probe.p_helps > 0.99 else f"= {probe.p_helps:.2f}"
    return (
        f"Use {together}: {probe.gain:+.1f} points expected ({low:+.1f} to {high:+.1f}, "
        f"P {chance}){worth}, for a {probe.algorithm} head on these features."
    )


def _worth(worth: LabelWorth) -> str:
    low, high = worth.interval
    span = f"{low} or more" if high is None else f"{low} to {high}"
    return f"{counted(worth.labels, 'more label')} ({span})"
