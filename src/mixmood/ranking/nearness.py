"""The three ways in which a pool can relate to the labelled set."""

from typing import Literal

from mixmood.core.records.ranking import Dissimilarity, NoiseFloor
from mixmood.ranking.statistics.score import Scores

Nearness = Literal["same", "nearer", "different"]
MOSTLY_COPIES = 0.5


def kinds(scores: Scores, measure: str) -> dict[str, Nearness]:
    """By the names of the pools, how each relates to the labelled set."""
    floor = scores.noise_floor[measure]
    return {
        name: nearness(found[measure], floor, scores.copied.get(name, 0.0))
        for name, found in scores.pools.items()
    }


def nearness(result: Dissimilarity, floor: NoiseFloor, copied: float = 0.0) -> Nearness:
    """How a pool relates to the labelled set by one measure.

    - "nearer": its images are nearer to the labelled ones than those are to each other, by more
      than the noise floor, or most of them are near copies of labelled images. Pools of little
      variety may be nearer too.
    - "different": the permutation test, corrected for the number of pools, shows a difference.
    - "same": it cannot be told apart from the labelled set.

    Args:
        result: The distance of the pool.
        floor: That of the labelled set from itself.
        copied: The share of near copies of labelled images in the pool.
    """
    is_below = result.signed < 0 and result.distance > floor.upper
    if is_below or copied >= MOSTLY_COPIES:
        return "nearer"
    return "different" if result.is_different else "same"
