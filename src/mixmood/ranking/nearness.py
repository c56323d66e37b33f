"""The three ways in which a pool can relate to the labelled set."""

from typing import Literal

from mixmood.core.records.ranking import Dissimilarity, NoiseFloor

Nearness = Literal["same", "nearer", "different"]


def nearness(result: Dissimilarity, floor: NoiseFloor) -> Nearness:
    """How a pool relates to the labelled set by one measure.

    - "nearer": its images are nearer to the labelled ones than those are to each other, by more
      than the noise floor. Near copies of labelled images, and pools of little variety, are.
    - "different": the permutation test, corrected for the number of pools, shows a difference.
    - "same": it cannot be told apart from the labelled set.
    """
    if result.signed < 0 and result.distance > floor.upper:
        return "nearer"
    return "different" if result.is_different else "same"
