"""From what the probe measures to accuracy in points: a map fitted on development tasks."""

from dataclasses import dataclass
from math import erf, sqrt

from mixmood.ranking.probe.measure import PoolEffect
from mixmood.ranking.probe.points_table import POINTS

WIDTH = 1.96
"""Standard errors to either side in 95 % intervals."""
UNKNOWN_ROOT, UNKNOWN_SPREAD = 0.67, 0.24
"""Mean and deviation of the root of a share that is not known: anything between 0 and 1."""


@dataclass(frozen=True)
class Gain:
    """The expected change of accuracy on new images, in points, and its standard error.

    Attributes:
        points: The change.
        error: Its standard error.
        order_error: The part of it that is not common to all pools of a labelled set: what
            blurs their order.
    """

    points: float
    error: float
    order_error: float = 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Where the change lies with 95 % probability."""
        return self.points - WIDTH * self.error, self.points + WIDTH * self.error

    @property
    def p_helps(self) -> float:
        """The probability that the change is above 0.

        >>> round(Gain(1.96, 1.0).p_helps, 3), Gain(0.0, 1.0).p_helps
        (0.975, 0.5)
        """
        return 0.5 * (1 + erf(self.points / (self.error * sqrt(2))))


def gain_of(
    effect: PoolEffect, useful_share: float | None, accuracy: float, algorithm: str
) -> Gain:
    """The gain of a head: what the useful share lets expect, corrected by what was measured.

    Two estimates are averaged, each with the inverse of its squared error as weight:

        expected = prior + prior_share * root + (prior_room + prior_both * root) * room
        measured = offset + slope * change of the probability of the right class

    `root` is the square root of the useful share: the first useful images of a pool change most.
    `room` is the share of the labelled images that are wrong without a pool: where all are right
    nothing can be gained. The error of the first is `spread`; that of the second comes from the
    labelled images (`factor` times their standard error) and from what other draws of the pool,
    other training and the map itself change (`noise`). So few labels leave the decision to the
    share, which is measured on many pool images, and many labels to the probe. `common` is the
    share of the squared error that all pools of a labelled set have in common.

    Args:
        effect: What was measured.
        useful_share: That of the pool, 0 to 1; None if it is not known.
        accuracy: Cross-validated accuracy without a pool, 0 to 1.
        algorithm: The head that was trained with the pool.
    """
    own, room = POINTS[algorithm], 1 - accuracy
    slope_of_root = own["prior_share"] + own["prior_both"] * room
    root = UNKNOWN_ROOT if useful_share is None else sqrt(useful_share)
    blur = UNKNOWN_SPREAD * slope_of_root if useful_share is None else 0.0
    expected = own["prior"] + own["prior_room"] * room + slope_of_root * root
    measured = own["offset"] + own["slope"] * effect.p_right
    trust = 1 / (own["spread"] ** 2 + blur**2)
    weight = 1 / ((own["slope"] * own["factor"] * effect.error) ** 2 + own["noise"] ** 2)
    points = (trust * expected + weight * measured) / (trust + weight)
    error = 1 / sqrt(trust + weight)
    return Gain(points, error, error * sqrt(1 - own["common"]))
