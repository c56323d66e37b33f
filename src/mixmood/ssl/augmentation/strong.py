"""Strong augmentation like RandAugment, applied to whole batches."""

import numpy as np
import torch
from torch import Tensor

from mixmood.ssl.augmentation.weak import warp

N_CHANGES = 2
"""How many of CHANGES each image gets."""

CUTOUT_SHARE = 0.5
"""Side of the grey square as a share of the shorter side of the image."""

GEOMETRIC = ("rotate", "shear-x", "shear-y", "shift-x", "shift-y")
TONAL = ("brightness", "contrast", "solarize", "posterize", "sharpness", "autocontrast")
CHANGES = (*GEOMETRIC, *TONAL, "identity")


def strong_augment(pixels: Tensor, rng: np.random.Generator) -> Tensor:
    """A strongly changed view of every image: floats of 0 to 255, of the shape of `pixels`.

    Each image gets two different changes of random strength, then a grey square (cutout). The
    geometric changes are combined into one affine map, so that pixels are interpolated once.

    Source: Cubuk et al., "RandAugment", 2020; DeVries and Taylor, "Cutout", 2017.
    """
    n_images = len(pixels)
    chosen = np.argsort(rng.random((n_images, len(CHANGES))), axis=1)[:, :N_CHANGES]
    is_chosen = np.zeros((n_images, len(CHANGES)), dtype=bool)
    np.put_along_axis(is_chosen, chosen, True, axis=1)
    strength = np.where(is_chosen, rng.uniform(-1, 1, is_chosen.shape), 0.0)
    pixels = warp(pixels.float(), _affine(strength[:, : len(GEOMETRIC)]))
    tonal = slice(len(GEOMETRIC), len(GEOMETRIC) + len(TONAL))
    pixels = _tones(pixels, strength[:, tonal], is_chosen[:, tonal])
    return _cutout(pixels, rng)


def _affine(strength: "np.ndarray[tuple[int, int], np.dtype[np.float64]]") -> Tensor:
    """Affine maps of up to 30 degrees, 0.3 shear and 0.3 shift; strength 0 is the identity."""
    angle = np.radians(30.0) * strength[:, 0]
    shear_x, shear_y, shift_x, shift_y = 0.3 * strength[:, 1:].T
    cosine, sine = np.cos(angle), np.sin(angle)
    rows = [cosine + shear_x * sine, shear_x * cosine - sine, 2 * shift_x]
    rows += [sine + shear_y * cosine, cosine - shear_y * sine, 2 * shift_y]
    return torch.from_numpy(np.stack(rows, axis=1).reshape(-1, 2, 3).astype(np.float32))


def _tones(
    pixels: Tensor,
    strength: "np.ndarray[tuple[int, int], np.dtype[np.float64]]",
    is_chosen: "np.ndarray[tuple[int, int], np.dtype[np.bool_]]",
) -> Tensor:
    """The images after the tonal changes that were chosen for them.

    Every change is computed for the whole batch, then used for the images that it was chosen for.
    """
    for column, change in enumerate(
        (_brighten, _contrast, _solarize, _posterize, _sharpen, _stretch)
    ):
        mask = torch.from_numpy(is_chosen[:, column]).to(pixels.device)[:, None, None, None]
        amount = torch.from_numpy(strength[:, column].astype(np.float32)).to(pixels.device)
        pixels = torch.where(mask, change(pixels, amount[:, None, None, None]), pixels)
    return pixels.clamp(0.0, 255.0)


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
    blurred = torch.nn.functional.avg_pool2d(
        pixels, 3, stride=1, padding=1, count_include_pad=False
    )
    return pixels + (pixels - blurred) * 0.9 * amount


def _stretch(pixels: Tensor, _: Tensor) -> Tensor:
    low = pixels.amin(dim=(2, 3), keepdim=True)
    high = pixels.amax(dim=(2, 3), keepdim=True)
    return (pixels - low) * (255.0 / (high - low).clamp_min(1.0))


def _cutout(pixels: Tensor, rng: np.random.Generator) -> Tensor:
    n_images, _, height, width = pixels.shape
    half = CUTOUT_SHARE * min(height, width) / 2
    rows = np.abs(np.arange(height) + 0.5 - rng.uniform(0, height, (n_images, 1))) < half
    columns = np.abs(np.arange(width) + 0.5 - rng.uniform(0, width, (n_images, 1))) < half
    is_cut = torch.from_numpy(rows[:, None, :, None] & columns[:, None, None, :])
    return pixels.masked_fill(is_cut.to(pixels.device), 127.0)
