"""The input of a network: the axis of the channels, and the range of the pixel values."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import OptionError
from mixmood.core.suggest import unknown_name

KEYS = ("layout", "range", "mean", "std", "resolution", "output")
LAYOUTS = ("nhwc", "nchw")
Triple = tuple[float, float, float]


@dataclass(frozen=True)
class InputFormat:
    """How pixels are prepared for a network: x / 255 * range, then (x - mean) / std.

    A network with an input of uint8 gets them unchanged.
    """

    layout: str = "nhwc"
    dtype: str = "uint8"
    range: float = 255.0
    mean: Triple = (0.0, 0.0, 0.0)
    std: Triple = (1.0, 1.0, 1.0)

    def apply(self, batch: NDArray[np.uint8]) -> NDArray[Any]:
        """The batch, uint8 (n, side, side, 3), as the network takes it."""
        pixels: NDArray[Any] = batch
        if self.dtype != "uint8":
            mean, std = np.float32(self.mean), np.float32(self.std)  # type: ignore[arg-type]
            # Multiplied first, so that a range of 255 is exact.
            pixels = batch.astype(np.float32) * np.float32(self.range) / np.float32(255)
            pixels = ((pixels - mean) / std).astype(self.dtype)
        if self.layout == "nchw":
            pixels = np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))
        return pixels

    def describe(self) -> dict[str, Any]:
        """The entry in a record; only the layout for an input of uint8."""
        return {"layout": self.layout} if self.dtype == "uint8" else asdict(self)


def check_settings(settings: Mapping[str, str]) -> None:
    """Refuse settings of an ONNX file that have an unknown name."""
    for key in settings:
        if key not in KEYS:
            raise unknown_name("option of an ONNX file", key, KEYS)


def layout_setting(settings: Mapping[str, str]) -> str | None:
    """The layout among the settings; None if it is not there."""
    layout = settings.get("layout")
    if layout is not None and layout.lower() not in LAYOUTS:
        raise unknown_name("layout", layout, LAYOUTS)
    return None if layout is None else layout.lower()


def positive_number(
    settings: Mapping[str, str], key: str, *, is_whole: bool = False
) -> float | None:
    """A positive number among the settings; None if it is not there."""
    if key not in settings:
        return None
    values = _numbers(settings[key])
    fits = len(values) == 1 and values[0] > 0 and (values[0].is_integer() or not is_whole)
    if not fits:
        kind = "positive whole number" if is_whole else "positive number"
        raise OptionError(f"{key} must be one {kind}; got '{settings[key]}'.")
    return values[0]


def triple(settings: Mapping[str, str], key: str, default: float) -> Triple:
    """Three numbers among the settings, one a channel; a single one counts for all."""
    values = _numbers(settings[key]) if key in settings else [default]
    if len(values) == 1:
        values = values * 3
    if len(values) != 3 or (key == "std" and not all(value > 0 for value in values)):
        kind = "positive numbers" if key == "std" else "numbers"
        raise OptionError(
            f"{key} must be one or three {kind} like 0.485,0.456,0.406; got '{settings[key]}'."
        )
    return values[0], values[1], values[2]


def _numbers(text: str) -> list[float]:
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        return []
    return values if all(np.isfinite(values)) else []
