"""Which values of images of more than eight bits become black and white."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

PERCENTILES = (0.1, 99.9)  # one dead or hot pixel in a thousand does not change them
LEAST_SPAN = 1 / 8  # an image with no value above this part of the range is nearly black
MOST_BEYOND = 1 / 4  # an image of which more than this part lies above the range is nearly white


@dataclass(frozen=True)
class PixelRange:
    """The values that become 0 and 255. Values between them are scaled, values outside clipped.

    >>> PixelRange(0, 4095).apply(np.array([0, 2048, 4095, 60000])).tolist()
    [0, 128, 255, 255]
    """

    low: float
    high: float

    def apply(self, values: NDArray[Any]) -> NDArray[np.uint8]:
        """Values of any type, scaled to uint8."""
        scaled = (values.astype(np.float64) - self.low) * (255 / (self.high - self.low))
        return np.clip(scaled + 0.5, 0, 255).astype(np.uint8)

    def fits(self, values: NDArray[Any]) -> bool:
        """Whether an image of these values becomes neither nearly black nor nearly white."""
        is_dark = values.max() < self.low + LEAST_SPAN * (self.high - self.low)
        return not is_dark and float((values > self.high).mean()) <= MOST_BEYOND

    def describe(self) -> dict[str, float]:
        """The range as plain values for a record."""
        return asdict(self)

    def sentence(self) -> str:
        """A sentence about the range for the user."""
        return (
            "Images of more than 8 bits are scaled by one range, fitted on the labelled images: "
            f"{self.low:g} is black and {self.high:g} white."
        )


FULL = PixelRange(0, 65_535)  # all values of sixteen bits: the range if none was fitted


def fitted_range(values: NDArray[Any]) -> PixelRange:
    """The range from the 0.1st to the 99.9th percentile of `values`.

    >>> fitted_range(np.arange(4096, dtype=np.uint16))
    PixelRange(low=4.0, high=4091.0)
    """
    low, high = (float(value) for value in np.percentile(values, PERCENTILES))
    if values.dtype.kind in "iu":
        low, high = float(np.floor(low)), float(np.ceil(high))
    return PixelRange(low, high if high > low else low + 1)
