"""The answer of a ranking in one sentence."""

from collections.abc import Mapping, Sequence

from mixmood.core.records.ranking import Candidate, NoiseFloor
from mixmood.ranking.nearness import Nearness, nearness

MOST_NAMED = 5
"""Pools that the sentence names; of more, it gives the number."""
UNLIKE_RIVAL: dict[Nearness, tuple[str, str]] = {
    "same": ("and cannot be told apart from the labelled set",) * 2,
    "different": ("but differs from the labelled set", "but differ from the labelled set"),
    "nearer": ("but is nearer than chance allows", "but are nearer than chance allows"),
}
"""For one pool and for several."""


def verdict(
    candidates: Sequence[Candidate], measure: str, noise_floor: Mapping[str, NoiseFloor]
) -> str:
    """Which pool is the nearest, how sure that is, and whether it differs from the labelled set.

    Args:
        candidates: The pools in their order, nearest first.
        measure: The measure that ranks.
        noise_floor: The noise floor of each measure.
    """
    kinds = {c.name: nearness(c.measures[measure], noise_floor[measure]) for c in candidates}
    best, others = candidates[0], candidates[1:]
    if not others:
        return f"{best.name} {_relation(best, measure, kinds[best.name])}; no other to compare."
    # An estimated probability cannot show certainty.
    value = "> 0.99" if best.p_best > 0.99 else f"= {best.p_best:.2f}"
    if set(kinds.values()) == {"same"}:
        return (
            f"None of the {len(candidates)} pools can be told apart from the labelled set; "
            f"{best.name} is the nearest (P {value})."
        )
    join = ", but it" if kinds[best.name] != "same" else " and"
    first = f"{best.name} is the nearest pool (P {value}){join}"
    sentence = f"{first} {_relation(best, measure, kinds[best.name])}"
    rivals = [candidate.name for candidate in others if candidate.rank_interval[0] == 1]
    return f"{sentence}{_rivals(kinds[best.name], rivals, kinds)}."


def _relation(candidate: Candidate, measure: str, kind: Nearness) -> str:
    """How a pool relates to the labelled set, as the end of a sentence."""
    if kind == "same":
        return "cannot be told apart from the labelled set"
    if kind == "nearer":
        return "is nearer to the labelled set than chance allows: look for copies"
    return f"differs from the labelled set (p = {candidate.measures[measure].p_holm:.2g})"


def _rivals(best: Nearness, names: Sequence[str], kinds: Mapping[str, Nearness]) -> str:
    """What to say of the pools that may be the nearest as well.

    A pool that differs from the labelled set is never called equal to one that does not.
    """
    alike = [name for name in names if kinds[name] == best]
    parts = [f"; {_listed(alike)} may be as near"] if alike else []
    for kind, (one, many) in UNLIKE_RIVAL.items():
        found = [name for name in names if kinds[name] == kind != best]
        if found:
            parts.append(f"; {_listed(found)} may be as near {one if len(found) == 1 else many}")
    return "".join(parts)


def _listed(names: Sequence[str]) -> str:
    """Names in a sentence: a, b and c."""
    if len(names) > MOST_NAMED:
        return f"{len(names)} other pools"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
