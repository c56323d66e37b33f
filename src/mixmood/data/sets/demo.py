"""The sets of the demonstration: embedded images whose order is known in advance."""

import numpy as np

from mixmood.core.seeds import rng_for
from mixmood.data.arrays.array_pools import ImageArray
from mixmood.data.pools.noise import NoiseSource
from mixmood.data.pools.pool import ImageSource, Labels
from mixmood.data.sets.embedded import digits, photo_patches

N_CLASSES = 5
N_PER_CLASS = 12
N_POOL = 800
PATCH_SIDE = 32
NOISE_SIDE = 8
"""The side of the digits, because noise of another size would be another kind of noise."""


def demo_sets(seed: int) -> tuple[ImageSource, dict[str, ImageSource]]:
    """Sixty labelled digits of five classes, and five pools from "the same" to "noise"."""
    rng = rng_for(seed, "demo")
    images, classes = digits()
    order = rng.permutation(len(images))
    images, classes = images[order], classes[order]
    is_known = classes < N_CLASSES
    chosen = np.concatenate([np.flatnonzero(classes == c)[:N_PER_CLASS] for c in range(N_CLASSES)])
    is_labelled = np.isin(np.arange(len(images)), chosen)
    names = tuple(f"digit {c}" for c in range(N_CLASSES))
    labels = Labels(classes[is_labelled].astype(np.int32), names)
    labelled = ImageArray(images[is_labelled], "labelled digits 0-4", labels)

    def pool(name: str, pictures: "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]") -> ImageSource:
        return ImageArray(pictures[:N_POOL], name)

    return labelled, {
        source.name: source
        for source in (
            pool("more digits 0-4", images[is_known & ~is_labelled]),
            pool("digits 5-9", images[~is_known]),
            pool("photo patches", photo_patches(N_POOL, PATCH_SIDE, rng)),
            NoiseSource("gaussian", "gaussian noise", count=N_POOL, size=NOISE_SIDE, seed=seed),
            NoiseSource(
                "salt-and-pepper", "salt and pepper", count=N_POOL, size=NOISE_SIDE, seed=seed
            ),
        )
    }
