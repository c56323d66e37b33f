"""`mixmood.embed`: the features of images, cached."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.api.view_choice import largest_asked
from mixmood.core.cache import open_cache
from mixmood.core.listener import Listener, Silent
from mixmood.core.options import with_options
from mixmood.data.images.pool import FeatureSource
from mixmood.data.open import open_pool
from mixmood.features.plan import ExtractionPlan
from mixmood.features.sample import Extractor


@with_options(ExtractionPlan)
def embed(
    images: Any,
    *,
    plan: ExtractionPlan,
    view: Mapping[str, Any] | None = None,
    listener: Listener | None = None,
) -> NDArray[np.float32]:
    """Features of the readable images of a pool, in its order, shape (n, d).

    Unreadable images have no row; a warning names them. Of a pool of features the features are
    returned, as float32.

    Args:
        images: Anything that `rank` takes as a pool.
        view: The entry `view` of a record: the features are those of that command. It replaces
            backbone, resolution and depth.
        listener: Gets progress, warnings and notes.
    """
    listener = listener or Silent()
    if view is not None:
        own = {name: view[name] for name in ("backbone", "resolution", "depth")}
        plan = replace(plan, **own)
    with open_cache(plan.cache, listener) or nullcontext() as store:
        pool = open_pool(images, seed=plan.seed, cache=store, frames=plan.frames)
        network = None if isinstance(pool, FeatureSource) else largest_asked(plan, listener)
        found = Extractor(network, plan.jobs, store, listener).read(pool)
    for text in found.not_empty().warnings:
        listener.warn(f"{pool.name}: {text}")
    return np.asarray(found.features, np.float32)
