"""`mixmood.embed`: the features of images, cached."""

import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.cache.features import open_cache
from mixmood.core.errors import InputError
from mixmood.core.family_names import DEFAULT_BACKBONE
from mixmood.core.progress import Progress, Silent
from mixmood.data.pools.open import open_pool
from mixmood.data.pools.pool import FeatureSource
from mixmood.ssl.input.pictures import unreadable_note


def embed(
    images: Any,
    *,
    backbone: str = DEFAULT_BACKBONE,
    resolution: int | None = None,
    jobs: int | None = None,
    cache: str | Path | None = "default",
    progress: Progress | None = None,
) -> NDArray[np.float32]:
    """Features of the readable images of a pool, in its order, shape (n, d).

    Unreadable images have no row; a warning says which they are. A pool of features is given back
    as it is.

    Args:
        images: Anything that `rank` takes as a pool.
        backbone: The name of a backbone, or the path of an ONNX file.
        resolution: Pixels a side that the backbone sees; its default if None.
        jobs: Threads; all cores if None.
        cache: A directory that keeps features between runs, or None for none.
        progress: Called after every image read.
    """
    from mixmood.features.backbones.registry import load_backbone
    from mixmood.features.extraction.extract import extract

    with open_cache(cache) or nullcontext() as store:
        pool = open_pool(images, cache=store)
        everything = np.arange(len(pool))
        if isinstance(pool, FeatureSource):
            return np.asarray(pool.features(everything), np.float32)
        network = load_backbone(backbone, resolution)
        found = extract(
            pool, everything, network, jobs=jobs, cache=store, progress=progress or Silent()
        )
    if not len(found.kept):
        raise InputError(f"{pool.name} has no readable image among {len(pool)}. Check the files.")
    if found.unreadable:
        text = unreadable_note(pool.name, [pool.locate(index) for index, _ in found.unreadable])
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    return found.features
