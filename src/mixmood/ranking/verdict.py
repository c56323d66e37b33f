"""The result of a ranking in one sentence."""

from collections.abc import Mapping, Sequence

from mixmood.core.records.ranking import RankedDissimilarity
from mixmood.core.words import listed
from mixmood.evidence.advice import Nearness
from mixmood.ranking.statistics.score import Scores

MOST_NAMED = 5
"""The sentence names at most so many pools; of more, it gives the number."""
RIVALS_OF_ANOTHER_KIND: dict[Nearness, tuple[str, str]] = {
    "same": ("and cannot be told apart from the labelled set",) * 2,
    "different": ("but differs from the labelled set", "but differ from the labelled set"),
    "nearer": ("but is nearer than chance allows", "but are nearer than chance allows"),
}
"""What is said of rivals that are of another kind than the nearest pool: of one, of several."""


def verdict(scores: Scores, measure: str) -> str:
    """Which pool is the nearest, how sure that is, and whether it differs from the labelled set."""
    results = {name: found[measure] for name, found in scores.pools.items()}
    kinds = scores.nearness(measure)
    best, *others = sorted(results, key=lambda name: results[name].rank)
    own = results[best]
    if not others:
        return f"{best} {_relation(own, kinds[best])}; no other to compare."
    chance = own.p_best or 0.0
    # An estimated probability cannot show certainty.
    value = "> 0.99" if chance > 0.99 else f"= {chance:.2f}"
    if set(kinds.values()) == {"same"}:
        return (
            f"None of the {len(results)} pools can be told apart from the labelled set; "
            f"{best} is the nearest (P {value})."
        )
    join = ", but it" if kinds[best] != "same" else " and"
    sentence = f"{best} is the nearest pool (P {value}){join} {_relation(own, kinds[best])}"
    rivals = [name for name in others if (results[name].rank_interval or (2, 2))[0] == 1]
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
    if len(names) > MOST_NAMED:
        return f"{len(names)} other pools"
    return listed(names)
