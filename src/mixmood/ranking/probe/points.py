"""The map from the result of the probe to points of accuracy, fitted on development tasks."""

from dataclasses import dataclass
from math import erf, hypot, sqrt

from mixmood.ranking.probe.measure import PoolEffect
from mixmood.ranking.probe.points_table import POINTS

WIDTH = 1.96
"""Standard errors to either side in 95 % intervals."""
UNKNOWN_SHARE, UNKNOWN_SPREAD = 0.5, 0.29
"""Mean and standard deviation of an unknown share, which may be anything from 0 to 1."""


@dataclass(frozen=True)
class Gain:
    """The expected change of accuracy on new images, in points, and its standard error.

    Attributes:
        points: The change.
        error: Its standard error.
        order_error: The part of it that is not common to all pools of a labelled set, and so
            may change their order.
    """

    points: float
    error: float
    order_error: float = 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the change."""
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
    """The gain of a head, from the measured effect of the pool and its useful share.

    points = offset + share * useful share + (room + both * useful share) * wrong
             + slope * change of the probability of the right class

    `wrong` is the share of the labelled images that are wrong without a pool: where it is small,
    little can be gained. The change is measured on a few labelled images, the share on many pool
    images: together they predict better than either alone.

    The squared error is spread^2 + (factor * standard error of the change)^2. The second part is
    the error due to the labelled images. The first part is due to other draws of the pool, other
    training, and data sets that the map was not fitted on. `common` is the share of the squared
    error that all pools of a labelled set have in common. No development task exceeded
    `most_wrong`. Beyond it the map stays constant, and the change that it would have is added to
    the error.

    Args:
        effect: The measured effect of the pool.
        useful_share: The useful share of the pool, 0 to 1; None if it is not known.
        accuracy: Cross-validated accuracy without a pool, 0 to 1.
        algorithm: The head that was trained with the pool.
    """
    fitted = POINTS[algorithm]
    wrong = min(1 - accuracy, fitted["most_wrong"])
    slope_of_share = fitted["share"] + fitted["both"] * wrong
    share = UNKNOWN_SHARE if useful_share is None else useful_share
    share_error = UNKNOWN_SPREAD * slope_of_share if useful_share is None else 0.0
    points = fitted["offset"] + fitted["room"] * wrong + slope_of_share * share
    points += fitted["slope"] * effect.p_right
    beyond = (abs(fitted["room"]) + abs(fitted["both"]) * share) * (1 - accuracy - wrong)
    error = hypot(fitted["spread"], fitted["factor"] * effect.error, share_error, beyond)
    return Gain(points, error, error * sqrt(1 - fitted["common"]))
