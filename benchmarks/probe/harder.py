"""Harder development packs: `python -m benchmarks.probe.harder PACKS FEATURES`.

In the heads' development tasks the accuracy of the supervised head is 62 % or more. Where the
backbone hardly separates the classes, as with house numbers, gains are different. Such tasks are
made from images of classes 0 to 4 by blending each with another image of these classes.
"""

import argparse
from pathlib import Path

import numpy as np

from benchmarks.heads.features import write_blocks
from benchmarks.heads.tasks import LOWER
from mixmood.core.seeds import rng_for
from mixmood.data.readers.array import ImageArray

PACKS = ("mnist", "fashion_mnist", "cifar10")
N_IMAGES = 3000
OVERLAY = 0.45
"""Weight of the other image."""


def overlaid(images: np.ndarray, pack: str) -> np.ndarray:
    """Each image blended with another one, whose class does not count."""
    others = images[rng_for(0, "overlaid", pack).permutation(len(images))]
    mixed = (1 - OVERLAY) * images.astype(np.float64) + OVERLAY * others
    return np.asarray(mixed.round(), np.uint8)


def main() -> None:
    """Extract the features that are not there yet, in the format of `benchmarks.heads.features`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packs", type=Path)
    parser.add_argument("features", type=Path)
    given = parser.parse_args()
    for pack in PACKS:
        with np.load(given.packs / f"{pack}.npz") as content:
            rows = np.flatnonzero(np.isin(content["labels"], LOWER))[:N_IMAGES]
            images, labels = content["images"][rows], content["labels"][rows].astype(np.int64)
        name = f"{pack}-overlaid"
        if not (given.features / f"{name}.labels.npy").exists():
            source = ImageArray(overlaid(images, pack), name)
            write_blocks(given.features, name, source, labels)


if __name__ == "__main__":
    main()
