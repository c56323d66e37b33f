"""What to use, and how sure that is, in one sentence."""

from collections.abc import Sequence

from mixmood.core.records.ranking import SIGNIFICANT, Candidate


def verdict(candidates: Sequence[Candidate], measure: str) -> str:
    """The answer to "which pool?", candidates being in their order, nearest first."""
    best, others = candidates[0], candidates[1:]
    if all(candidate.measures[measure].p_holm > SIGNIFICANT for candidate in candidates):
        subject = "No pool is" if others else f"{best.name} is not"
        return (
            f"{subject} distinguishable from noise: by {measure}, its images are as near to the "
            "labelled ones as those are to each other."
        )
    if not others:
        p_value = best.measures[measure].p_permutation
        return (
            f"{best.name} differs from the labelled set (p = {p_value:.2g}); no other to compare."
        )
    rivals = [candidate.name for candidate in others if candidate.rank_interval[0] == 1]
    # An estimated error cannot show certainty.
    value = "> 0.99" if best.p_best > 0.99 else f"= {best.p_best:.2f}"
    chance = f"{best.name} is the nearest pool (P {value})"
    return f"{chance}; {_listed(rivals)} cannot be told from it." if rivals else f"{chance}."


def _listed(names: Sequence[str]) -> str:
    """Names in a sentence: a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
