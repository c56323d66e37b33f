"""`mixmood.embed`: the features of images, cached."""

import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.cache.features import open_cache
from mixmood.core.errors import InputError
from mixmood.core.plan_options import plan_from, with_options
from mixmood.core.progress import Progress, Silent
from mixmood.data.pools.open import open_pool
from mixmood.data.pools.pool import FeatureSource
from mixmood.features.extraction.plan import ExtractionPlan
from mixmood.ssl.input.pictures import unreadable_note


def embed(
    images: Any,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> NDArray[np.float32]:
    """Features of the readable images of a pool, in its order, shape (n, d).

    Unreadable images have no row; a warning names them. Of a pool of features the features are
    returned, as float32.

    Args:
        images: Anything that `rank` takes as a pool.
        progress: Called after every image read.
        options: The fields of `mixmood.features.extraction.plan.ExtractionPlan`, as follows.
    """
    from mixmood.features.backbones.registry import load_backbone
    from mixmood.features.extraction.extract import extract

    plan = plan_from(ExtractionPlan, options)
    with open_cache(plan.cache) or nullcontext() as store:
        pool = open_pool(images, seed=plan.seed, cache=store, frames=plan.frames)
        everything = np.arange(len(pool))
        if isinstance(pool, FeatureSource):
            return np.asarray(pool.features(everything), np.float32)
        network = load_backbone(plan.backbone, plan.resolution, plan.device)
        found = extract(
            pool, everything, network, jobs=plan.jobs, cache=store, progress=progress or Silent()
        )
    if not len(found.kept):
        raise InputError(f"{pool.name} has no readable image among {len(pool)}. Check the files.")
    if found.unreadable:
        text = unreadable_note(pool.name, [pool.locate(index) for index, _ in found.unreadable])
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    return found.features


with_options(embed, ExtractionPlan)
