"""Random changes of whole batches that do not change the class: weak and strong ones."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from mixmood.core.arrays import Array
from mixmood.core.errors import OptionError
from mixmood.core.text import check_name


@dataclass(frozen=True)
class Augment:
    """Optional flips, transposition, shifts (a crop after padding by reflection) and rotations."""

    flip_horizontal: bool = False
    flip_vertical: bool = False
    rotate_degrees: float = 0.0
    pad_share: float = 0.0
    transpose: bool = False

    def __call__(self, pixels: Tensor, rng: np.random.Generator) -> Tensor:
        """A random view of every image, float, shape (n, channels, height, width)."""
        if self.flip_horizontal or self.flip_vertical or self.pad_share:
            pixels = self._flip_and_shift(pixels, rng)
        if self.transpose:
            height, width = pixels.shape[2:]
            if height != width:
                raise OptionError(
                    f"The augmentation 'dihedral' needs square images; got {height} x {width}."
                )
            is_turned = torch.from_numpy(rng.random(len(pixels)) < 0.5).to(pixels.device)
            pixels = torch.where(is_turned[:, None, None, None], pixels.mT, pixels)
        pixels = pixels.float()
        if self.rotate_degrees:
            angles = rng.uniform(-self.rotate_degrees, self.rotate_degrees, len(pixels))
            pixels = warp(pixels, rotations(np.radians(angles)))
        return pixels

    def _flip_and_shift(self, pixels: Tensor, rng: np.random.Generator) -> Tensor:
        n_images, _, height, width = pixels.shape
        rows = self._source_lines(n_images, height, self.flip_vertical, rng)
        columns = self._source_lines(n_images, width, self.flip_horizontal, rng)
        images = torch.arange(n_images)[:, None, None]
        # Flips and shifts without interpolation; channels are last in memory.
        source = pixels.permute(0, 2, 3, 1).contiguous()
        return source[images, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)

    def _source_lines(
        self, n_images: int, length: int, flips: bool, rng: np.random.Generator
    ) -> Tensor:
        """The row or column that each one is copied from, for every image; shape (n, length)."""
        pad = round(self.pad_share * length)
        lines = np.broadcast_to(np.arange(length), (n_images, length))
        if pad:
            lines = np.abs(lines + rng.integers(-pad, pad + 1, (n_images, 1)))
            lines = (length - 1) - np.abs((length - 1) - lines)
        if flips:
            lines = np.where(rng.random((n_images, 1)) < 0.5, length - 1 - lines, lines)
        return torch.from_numpy(lines.copy())


def rotations(radians: Array) -> Tensor:
    """Affine matrices that rotate images about their centres, shape (n, 2, 3)."""
    cosine, sine, zero = np.cos(radians), np.sin(radians), np.zeros_like(radians)
    turned = np.stack([cosine, -sine, zero, sine, cosine, zero], axis=1)
    return torch.from_numpy(turned.reshape(-1, 2, 3).astype(np.float32))


def warp(pixels: Tensor, matrices: Tensor) -> Tensor:
    """Every image transformed by its own affine map: bilinear, with reflection at the edges."""
    height, width = pixels.shape[2:]
    # Rotation and shear are in units of pixels; positions go from -1 to 1 along both sides.
    ratio = torch.tensor([[1.0, height / width, 1.0], [width / height, 1.0, 1.0]])
    maps = (matrices * ratio).to(pixels.device)
    grid = functional.affine_grid(maps, list(pixels.shape), align_corners=False)
    return functional.grid_sample(
        pixels, grid, mode="bilinear", padding_mode="reflection", align_corners=False
    )


AUGMENTATIONS = {
    "paper": Augment(flip_horizontal=True, flip_vertical=True, rotate_degrees=10.0),
    "flips": Augment(flip_horizontal=True, flip_vertical=True),
    "dihedral": Augment(flip_horizontal=True, flip_vertical=True, transpose=True),
    "flip-crop": Augment(flip_horizontal=True, pad_share=1 / 8),
    "crop": Augment(pad_share=1 / 8),
    "none": Augment(),
}


def augmentation(word: str | Augment) -> Augment:
    """The augmentation with this name; an `Augment` is returned unchanged."""
    if isinstance(word, Augment):
        return word
    check_name("augmentation", word, AUGMENTATIONS)
    return AUGMENTATIONS[word]


N_CHANGES = 2  # how many changes each image gets

CUTOUT_SHARE = 0.5  # side of the grey square as a share of the shorter side of the image


def _brighten(pixels: Tensor, amount: Tensor) -> Tensor:
    return pixels * (1 + 0.9 * amount)


def _contrast(pixels: Tensor, amount: Tensor) -> Tensor:
    mean = pixels.mean(dim=(1, 2, 3), keepdim=True)
    return mean + (pixels - mean) * (1 + 0.9 * amount)


def _solarize(pixels: Tensor, amount: Tensor) -> Tensor:
    return torch.where(pixels < 255 * amount.abs(), pixels, 255 - pixels)


def _posterize(pixels: Tensor, amount: Tensor) -> Tensor:
    step = 2.0 ** (4 * amount.abs()).round()
    return (pixels / step).floor() * step


def _sharpen(pixels: Tensor, amount: Tensor) -> Tensor:
    blurred = functional.avg_pool2d(pixels, 3, stride=1, padding=1, count_include_pad=False)
    return pixels + (pixels - blurred) * 0.9 * amount


def _stretch(pixels: Tensor, _: Tensor) -> Tensor:
    low = pixels.amin(dim=(2, 3), keepdim=True)
    high = pixels.amax(dim=(2, 3), keepdim=True)
    return (pixels - low) * (255.0 / (high - low).clamp_min(1.0))


GEOMETRIC = ("rotate", "shear-x", "shear-y", "shift-x", "shift-y")
TONAL = (_brighten, _contrast, _solarize, _posterize, _sharpen, _stretch)
N_KINDS = len(GEOMETRIC) + len(TONAL) + 1  # the last kind changes nothing


def strong_augment(pixels: Tensor, rng: np.random.Generator) -> Tensor:
    """A strongly changed view of every image: floats of 0 to 255, of the shape of `pixels`.

    Each image gets two different changes of random strength, then a grey square (cutout). The
    geometric changes are combined into one affine map, so that pixels are interpolated once.

    Source: Cubuk et al., "RandAugment", 2020; DeVries and Taylor, "Cutout", 2017.
    """
    n_images = len(pixels)
    chosen = np.argsort(rng.random((n_images, N_KINDS)), axis=1)[:, :N_CHANGES]
    is_chosen = np.zeros((n_images, N_KINDS), dtype=bool)
    np.put_along_axis(is_chosen, chosen, True, axis=1)
    strength = np.where(is_chosen, rng.uniform(-1, 1, is_chosen.shape), 0.0)
    pixels = warp(pixels.float(), _affine(strength[:, : len(GEOMETRIC)]))
    for column, change in enumerate(TONAL, start=len(GEOMETRIC)):
        # Computed for the whole batch, then used for the images that it was chosen for.
        mask = torch.from_numpy(is_chosen[:, column]).to(pixels.device)[:, None, None, None]
        amount = torch.from_numpy(strength[:, column].astype(np.float32)).to(pixels.device)
        pixels = torch.where(mask, change(pixels, amount[:, None, None, None]), pixels)
    return _cutout(pixels.clamp(0.0, 255.0), rng)


def _affine(strength: Array) -> Tensor:
    """Affine maps of up to 30 degrees, 0.3 shear and 0.3 shift; strength 0 is the identity."""
    angle = np.radians(30.0) * strength[:, 0]
    shear_x, shear_y, shift_x, shift_y = 0.3 * strength[:, 1:].T
    cosine, sine = np.cos(angle), np.sin(angle)
    rows = [cosine + shear_x * sine, shear_x * cosine - sine, 2 * shift_x]
    rows += [sine + shear_y * cosine, cosine - shear_y * sine, 2 * shift_y]
    return torch.from_numpy(np.stack(rows, axis=1).reshape(-1, 2, 3).astype(np.float32))


def _cutout(pixels: Tensor, rng: np.random.Generator) -> Tensor:
    n_images, _, height, width = pixels.shape
    half = CUTOUT_SHARE * min(height, width) / 2
    rows = np.abs(np.arange(height) + 0.5 - rng.uniform(0, height, (n_images, 1))) < half
    columns = np.abs(np.arange(width) + 0.5 - rng.uniform(0, width, (n_images, 1))) < half
    is_cut = torch.from_numpy(rows[:, None, :, None] & columns[:, None, None, :])
    return pixels.masked_fill(is_cut.to(pixels.device), 127.0)
