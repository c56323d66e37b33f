"""From what the probe measures to accuracy in points: a map fitted on development tasks."""

from dataclasses import dataclass
from math import erf, sqrt

from mixmood.ranking.probe.measure import PoolEffect
from mixmood.ranking.probe.points_table import POINTS

WIDTH = 1.96
"""Standard errors to either side in 95 % intervals."""


UNKNOWN_SHARE = 0.5
"""What is taken where the useful share cannot be estimated."""


@dataclass(frozen=True)
class Gain:
    """The expected change of accuracy on new images, in points, and its standard error."""

    points: float
    error: float

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


def gain_of(effect: PoolEffect, useful_share: float | None, algorithm: str) -> Gain:
    """The gain of a head, from the change that the pool made to held-out labelled images.

    points = offset + slope * change of the probability of the right class
             + slope_share * useful share

    The share is in it because the change is measured on a few labelled images and the share on
    many pool images: together they predict better than either. The squared error is spread^2
    + (factor * error of the labelled images)^2 + (factor_unrest * difference between the two
    parts of the pool)^2. The first part holds what no pool and no label set shows: other draws,
    other training, and the error of the map itself.
    """
    own = POINTS[algorithm]
    share = UNKNOWN_SHARE if useful_share is None else useful_share
    points = own["offset"] + own["slope"] * effect.p_right + own["slope_share"] * share
    error = sqrt(
        own["spread"] ** 2
        + (own["factor"] * effect.error) ** 2
        + (own["factor_unrest"] * effect.unrest) ** 2
    )
    return Gain(points, error)
