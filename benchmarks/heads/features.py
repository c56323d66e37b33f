"""Features of the image packs, extracted once: `python -m benchmarks.heads.features PACKS OUT`.

For each pack, in its order, a file of rows for each resolution and block of the backbone, and one
of its labels: tasks are then looked at in the view that their labelled images choose. The digits of
scikit-learn and two kinds of noise are made here, so that they need no pack; photographs are read
from their archives.
"""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from mixmood.data.images.pool import ImageSource
from mixmood.data.open import open_pool
from mixmood.data.readers.array import ImageArray
from mixmood.data.readers.noise import NoiseSource
from mixmood.features.backbones.registry import load_backbone
from mixmood.features.backbones.view import BOTH, RESOLUTIONS
from mixmood.features.extract import Extractor

PACKS = ("mnist", "fashion_mnist", "cifar10", "svhn", "tiny_imagenet", "fashion_product")
PHOTOGRAPHS = ("pets", "imagenet_photos")
NOISES = ("gaussian", "salt-and-pepper")
N_NOISE = 3000

Labelled = tuple[ImageSource, np.ndarray]


def digits() -> Labelled:
    """The 1797 digits of scikit-learn: 8 x 8 pixels of 0 to 16, stretched to 0 to 255."""
    images, labels = load_digits().images, load_digits().target
    return ImageArray((images * (255 / 16)).round().astype(np.uint8), "digits"), labels


def noise(kind: str) -> Labelled:
    """Images of noise at 32 x 32 pixels; their labels are all 0."""
    return NoiseSource(kind, kind, count=N_NOISE), np.zeros(N_NOISE, np.int64)


def pack(folder: Path, name: str) -> Labelled:
    """The images and labels of a pack."""
    with np.load(folder / f"{name}.npz") as content:
        return ImageArray(content["images"], name), content["labels"]


def photographs(folder: Path, name: str) -> Labelled:
    """The images of an archive; their labels are the numbers of their folders by name."""
    found = open_pool(folder / f"{name}.zip")
    return found, np.zeros(len(found)) if found.labels is None else found.labels.codes


def sources(folder: Path) -> dict[str, Callable[[], Labelled]]:
    """What there is to extract, by name, opened when it is called."""
    packs = {name: partial(pack, folder, name) for name in PACKS}
    packs |= {name: partial(photographs, folder, name) for name in PHOTOGRAPHS}
    return packs | {"digits": digits} | {kind: partial(noise, kind) for kind in NOISES}


def main() -> None:
    """Extract what is not there yet; a file appears under its name when it is whole."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packs", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name, opened in sources(options.packs).items():
        if not (options.out / f"{name}.labels.npy").exists():
            write_blocks(options.out, name, *opened())


def write_blocks(out: Path, name: str, source: ImageSource, labels: np.ndarray) -> None:
    """All blocks of all images; the labels last, so that a pack with labels is whole."""
    backbones = [load_backbone(resolution=side, depth=BOTH) for side in RESOLUTIONS]
    samples = Extractor(None, jobs=1).read_each(backbones, source, range(len(source)))
    for side, sample in zip(RESOLUTIONS, samples, strict=True):
        for block, values in sample.blocks.items():
            np.save(out / f"{name}-{side}-{block}.npy", values)
    np.save(out / f"{name}.labels.npy", labels[samples[0].rows].astype(np.int64))
    print(name, len(samples[0]), flush=True)


if __name__ == "__main__":
    main()
