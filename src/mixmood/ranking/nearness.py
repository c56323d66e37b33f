"""Whether a pool is the same as the labelled set, nearer than chance allows, or different."""

from typing import Literal

from mixmood.core.records.ranking import Dissimilarity, NoiseFloor
from mixmood.ranking.statistics.score import Scores

Nearness = Literal["same", "nearer", "different"]
MOSTLY_COPIES = 0.5


def nearness_by_pool(scores: Scores, measure: str) -> dict[str, Nearness]:
    """How each pool relates to the labelled set, by the name of the pool."""
    floor = scores.noise_floor[measure]
    return {
        name: nearness(found[measure], floor, scores.copied.get(name, 0.0))
        for name, found in scores.pools.items()
    }


def nearness(result: Dissimilarity, floor: NoiseFloor, copied: float = 0.0) -> Nearness:
    """How a pool relates to the labelled set by one measure.

    - "nearer": its images are nearer to the labelled ones than those are to each other, by more
      than the noise floor, or most of them are near copies of labelled images. Pools of little
      variety can be nearer too.
    - "different": the permutation test, corrected for the number of pools, shows a difference.
    - "same": it cannot be told apart from the labelled set.

    Args:
        result: The distance of the pool.
        floor: The distance of the labelled set from itself.
        copied: The share of near copies of labelled images in the pool.
    """
    is_below = result.signed < 0 and result.distance > floor.upper
    if is_below or copied >= MOSTLY_COPIES:
        return "nearer"
    return "different" if result.is_different else "same"
