"""Weak augmentation: flips, shifts and rotations, applied to whole batches."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from mixmood.core.suggest import unknown_name


@dataclass(frozen=True)
class Augment:
    """Optional flips, shifts (a crop of the image padded by reflection) and rotations."""

    flip_horizontal: bool = False
    flip_vertical: bool = False
    rotate_degrees: float = 0.0
    pad_share: float = 0.0

    def __call__(self, pixels: Tensor, rng: np.random.Generator) -> Tensor:
        """A random view of every image, float, shape (n, channels, height, width)."""
        if self.flip_horizontal or self.flip_vertical or self.pad_share:
            pixels = self._flip_and_shift(pixels, rng)
        pixels = pixels.float()
        if self.rotate_degrees:
            angles = rng.uniform(-self.rotate_degrees, self.rotate_degrees, len(pixels))
            pixels = warp(pixels, rotations(np.radians(angles)))
        return pixels

    def _flip_and_shift(self, pixels: Tensor, rng: np.random.Generator) -> Tensor:
        n_images, _, height, width = pixels.shape
        rows = self._source_lines(n_images, height, self.flip_vertical, rng)
        columns = self._source_lines(n_images, width, self.flip_horizontal, rng)
        # One gather does both flips and shifts, without interpolation; channels are last in it.
        index = (np.arange(n_images)[:, None, None] * height + rows[:, :, None]) * width
        flat = torch.from_numpy((index + columns[:, None, :]).ravel()).to(pixels.device)
        by_pixel = pixels.permute(0, 2, 3, 1).reshape(n_images * height * width, -1)
        gathered = by_pixel.index_select(0, flat)
        return gathered.view(n_images, height, width, -1).permute(0, 3, 1, 2)

    def _source_lines(
        self, n_images: int, length: int, flips: bool, rng: np.random.Generator
    ) -> "np.ndarray[tuple[int, int], np.dtype[np.int64]]":
        """The row or column that each one is copied from, for every image; shape (n, length)."""
        pad = round(self.pad_share * length)
        lines = np.broadcast_to(np.arange(length), (n_images, length))
        if pad:
            lines = np.abs(lines + rng.integers(-pad, pad + 1, (n_images, 1)))
            lines = (length - 1) - np.abs((length - 1) - lines)
        if flips:
            lines = np.where(rng.random((n_images, 1)) < 0.5, length - 1 - lines, lines)
        return lines


def rotations(radians: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> Tensor:
    """Affine matrices that rotate images about their centres, shape (n, 2, 3)."""
    cosine, sine, zero = np.cos(radians), np.sin(radians), np.zeros_like(radians)
    turned = np.stack([cosine, -sine, zero, sine, cosine, zero], axis=1)
    return torch.from_numpy(turned.reshape(-1, 2, 3).astype(np.float32))


def warp(pixels: Tensor, matrices: Tensor) -> Tensor:
    """Every image transformed by its own affine map: bilinear, with reflection at the edges."""
    n_images, _, height, width = pixels.shape
    positions, ratio = _pixel_positions(height, width, pixels.device)
    maps = (matrices.to(pixels.device) * ratio).transpose(1, 2)
    grid = positions.expand(n_images, -1, -1).bmm(maps).view(n_images, height, width, 2)
    return functional.grid_sample(
        pixels, grid, mode="bilinear", padding_mode="reflection", align_corners=False
    )


@lru_cache(maxsize=4)
def _pixel_positions(height: int, width: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """The positions of all pixels as rows (x, y, 1), and factors that scale affine maps to them.

    The rotation and shear of a map are in units of pixels; positions go from -1 to 1 along both
    sides. `affine_grid` would compute the positions in every call, which takes as long as the
    sampling itself.
    """
    unmoved = functional.affine_grid(
        torch.eye(2, 3)[None], [1, 1, height, width], align_corners=False
    ).view(-1, 2)
    positions = torch.cat([unmoved, torch.ones(height * width, 1)], dim=1)
    ratio = torch.tensor([[1.0, height / width, 1.0], [width / height, 1.0, 1.0]])
    return positions.to(device), ratio.to(device)


AUGMENTATIONS = {
    "paper": Augment(flip_horizontal=True, flip_vertical=True, rotate_degrees=10.0),
    "flips": Augment(flip_horizontal=True, flip_vertical=True),
    "flip-crop": Augment(flip_horizontal=True, pad_share=1 / 8),
    "crop": Augment(pad_share=1 / 8),
    "none": Augment(),
}


def augmentation(word: str | Augment) -> Augment:
    """The augmentation with this name; an `Augment` is returned unchanged."""
    if isinstance(word, Augment):
        return word
    if word not in AUGMENTATIONS:
        raise unknown_name("augmentation", word, AUGMENTATIONS)
    return AUGMENTATIONS[word]
