"""The pools of a ranking: opened, named, and noise in the size of the labelled images."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mixmood.core.cache.features import FeatureCache
from mixmood.core.errors import OptionError
from mixmood.core.files.places import expanded
from mixmood.data.pools.open import open_pool
from mixmood.data.pools.pool import FeatureSource, Pool

# NAME=PATH; a NAME has no slash and no colon, so that neither a path nor a URL with "=" is split.
NAMED = re.compile(r"([^=/\\:]+)=(.+)", re.DOTALL)
N_LOOKED_AT = 8
SMALLEST_NOISE, LARGEST_NOISE = 8, 224


def open_candidates(
    candidates: Mapping[str, Any] | Sequence[Any],
    labelled: Pool,
    seed: int,
    cache: FeatureCache | None = None,
) -> dict[str, Pool]:
    """The pools by name: from a dictionary, or from a list in which `web=crawl.zip` names one."""
    side = noise_size(labelled)

    def opened(what: Any, name: str | None) -> Pool:
        return open_pool(what, name, seed=seed, noise_size=side, cache=cache)

    pools: dict[str, Pool] = {}
    for name, what in _named(candidates):
        pool = opened(what, name)
        if pool.name in pools:
            raise OptionError(
                f"Two candidates are called '{pool.name}'. Name them: NAME=PATH on the command "
                "line, a dictionary in Python."
            )
        pools[pool.name] = pool
    return pools


def _named(candidates: Mapping[str, Any] | Sequence[Any]) -> Iterator[tuple[str | None, Any]]:
    """What to open, and what to call it where that is told."""
    if isinstance(candidates, Mapping):
        yield from candidates.items()
        return
    for what in [candidates] if isinstance(candidates, str | Path) else candidates:
        match = NAMED.fullmatch(what) if isinstance(what, str) else None
        # A folder may be called `x=y`: what is there is meant.
        if match and not os.path.exists(expanded(what)):  # noqa: PTH110 - takes any text
            yield match[1], match[2]
        else:
            yield None, what


def noise_size(labelled: Pool) -> int | None:
    """The side at which noise is noise of the labelled images' size.

    Noise of another size is smoothed or stretched on its way into the backbone, and is then
    another kind of noise. None if the labelled set holds features, or its first images cannot be
    read.
    """
    if isinstance(labelled, FeatureSource):
        return None
    for picture in labelled.read(range(min(len(labelled), N_LOOKED_AT))):
        if isinstance(picture, np.ndarray):
            return int(np.clip(min(picture.shape[:2]), SMALLEST_NOISE, LARGEST_NOISE))
    return None
