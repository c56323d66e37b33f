"""How pixels are prepared for a model of the hub, by the settings of its own processor."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import BackboneError, OptionError

LARGEST_SIDE = 4096
TOLERANCE = 1e-3


@dataclass(frozen=True)
class PixelSteps:
    """Centre crop, scale and standardisation of square images."""

    side: int
    crop: int
    factor: float
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def apply(self, batch: NDArray[np.uint8]) -> NDArray[np.float32]:
        """A batch of uint8, (n, side, side, 3), as floats of shape (n, 3, crop, crop)."""
        start = (self.side - self.crop) // 2
        part = batch[:, start : start + self.crop, start : start + self.crop]
        # Scaling and standardisation in one multiplication and one addition.
        mean, std = np.array(self.mean, np.float32), np.array(self.std, np.float32)
        scale, shift = np.float32(self.factor) / std, -mean / std
        pixels = part.transpose(0, 3, 1, 2).astype(np.float32)
        pixels *= scale[:, None, None]
        pixels += shift[:, None, None]
        return pixels


def steps_of(settings: dict[str, Any]) -> PixelSteps:
    """The steps that the settings of a processor ask for; BackboneError if they give no size."""
    size = settings.get("size") or {}
    size = {"shortest_edge": size} if isinstance(size, int) else dict(size)
    sides = [int(size[key]) for key in ("shortest_edge", "height", "width") if size.get(key)]
    if not settings.get("do_resize", True) or not sides:
        raise BackboneError(
            "The processor of the model does not say the size of its images (do_resize, size). Set "
            "it in its preprocessor_config.json."
        )
    side = crop = max(sides)
    percent = settings.get("crop_pct")
    if percent and side < 384:
        # ConvNeXt: the image is resized to a larger side, then cropped.
        side = int(side / float(percent))
    if settings.get("do_center_crop"):
        wanted = settings.get("crop_size") or crop
        crop = int(wanted if isinstance(wanted, int) else max(wanted.values()))
    if not 0 < crop <= side <= LARGEST_SIDE:
        raise BackboneError(
            f"The processor of the model crops {crop} pixels out of {side}; both must be 1 to "
            f"{LARGEST_SIDE}, and the second no less than the first. Set them in its "
            "preprocessor_config.json."
        )
    factor = float(settings.get("rescale_factor", 1 / 255)) if settings.get("do_rescale") else 1.0
    is_normal = bool(settings.get("do_normalize"))
    mean = tuple(settings.get("image_mean") or (0.0,) * 3) if is_normal else (0.0,) * 3
    std = tuple(settings.get("image_std") or (1.0,) * 3) if is_normal else (1.0,) * 3
    return PixelSteps(side, crop, factor, mean, std)


def agrees(steps: PixelSteps, processor: Any) -> bool:
    """Whether the steps and the processor itself give the same for a random picture."""
    rng = np.random.default_rng(0)
    picture = rng.integers(0, 256, (steps.side, steps.side, 3), dtype=np.uint8)
    found = processed(processor, picture[None])
    own = steps.apply(picture[None])
    return own.shape == found.shape and bool(np.abs(own - found).max() < TOLERANCE)


def processed(processor: Any, batch: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The batch as the processor itself prepares it."""
    done = processor(images=list(batch), return_tensors="np", input_data_format="channels_last")
    return np.asarray(done["pixel_values"], dtype=np.float32)


def check_side(resolution: int | None, side: int) -> None:
    """Refuse a resolution that is not the model's own."""
    if resolution not in (None, side):
        raise OptionError(
            f"This model takes images of {side} pixels a side, by the settings of its processor; "
            f"got {resolution}. Leave the resolution out."
        )
