"""Standardising pixels to mean 0 and standard deviation 1 in each channel."""

from dataclasses import dataclass

import torch
from torch import Tensor

from mixmood.ssl.input.images import Images

CHUNK = 512
SAMPLED = 4096


@dataclass(frozen=True)
class Standardise:
    """(pixel - mean) / deviation per channel, for pixels of 0 to 255; both of shape (channels,)."""

    mean: Tensor
    deviation: Tensor

    @classmethod
    def of(cls, images: Images) -> "Standardise":
        """The statistics of all images, or of 4096 evenly spaced ones if they are streamed."""
        rows = torch.arange(len(images))
        if images.is_streamed and len(images) > SAMPLED:
            rows = torch.linspace(0, len(images) - 1, SAMPLED).long()
        n_pixels, total, squares = 0, torch.zeros(1), torch.zeros(1)
        for chunk in torch.split(rows, CHUNK):
            pixels = images.batch(chunk.numpy()).double()
            n_pixels += pixels.numel() // pixels.shape[1]
            total = total + pixels.sum(dim=(0, 2, 3))
            squares = squares + pixels.square().sum(dim=(0, 2, 3))
        mean = total / n_pixels
        deviation = (squares / n_pixels - mean.square()).clamp_min(0).sqrt()
        # A constant channel becomes 0 everywhere.
        deviation[deviation < 1e-6] = 1.0
        return cls(mean.float(), deviation.float())

    def to(self, device: torch.device) -> "Standardise":
        """The same statistics on a device."""
        return Standardise(self.mean.to(device), self.deviation.to(device))

    def __call__(self, pixels: Tensor) -> Tensor:
        """Standardised images, in the shape and memory layout of the pixels."""
        return (pixels - self.mean[:, None, None]) / self.deviation[:, None, None]
