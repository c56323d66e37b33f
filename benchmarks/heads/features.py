"""Features of the image packs, extracted once: `python -m benchmarks.heads.features PACKS OUT`.

One file of float32 rows for each pack, in the order of the pack, and one of its labels. The
digits of scikit-learn and two kinds of noise are made here, so that they need no pack.
"""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from mixmood.data.images.pool import ImageSource
from mixmood.data.readers.array import ImageArray
from mixmood.data.readers.noise import NoiseSource
from mixmood.features.backbones.registry import load_backbone
from mixmood.features.extract import extract

PACKS = ("mnist", "fashion_mnist", "cifar10", "svhn", "tiny_imagenet", "fashion_product")
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


def sources(folder: Path) -> dict[str, Callable[[], Labelled]]:
    """What there is to extract, by name, opened when it is called."""
    packs = {name: partial(pack, folder, name) for name in PACKS}
    return packs | {"digits": digits} | {kind: partial(noise, kind) for kind in NOISES}


def main() -> None:
    """Extract what is not there yet; a file appears under its name when it is whole."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packs", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    backbone = load_backbone()
    for name, opened in sources(options.packs).items():
        path = options.out / f"{name}.npy"
        if path.exists():
            continue
        source, labels = opened()
        features = extract(source, range(len(source)), backbone, jobs=1).features
        np.save(options.out / f"{name}.labels.npy", labels.astype(np.int64))
        unfinished = options.out / f"{name}.part.npy"
        np.save(unfinished, features)
        unfinished.replace(path)
        print(name, features.shape, flush=True)


if __name__ == "__main__":
    main()
