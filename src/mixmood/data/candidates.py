"""The pools of a ranking: opened, named, and noise in the size of the labelled images."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mixmood.core.cache import FeatureCache
from mixmood.core.errors import OptionError
from mixmood.data.open import open_pool
from mixmood.data.source import FeatureSource, Pool

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

    if isinstance(candidates, Mapping):
        return {name: opened(what, name) for name, what in candidates.items()}
    pools: dict[str, Pool] = {}
    for what in [candidates] if isinstance(candidates, str | Path) else candidates:
        match = NAMED.fullmatch(what) if isinstance(what, str) else None
        pool = opened(match[2], match[1]) if match else opened(what, None)
        if pool.name in pools:
            raise OptionError(
                f"Two candidates are called '{pool.name}'. Name them: NAME=PATH on the command "
                "line, a dictionary in Python."
            )
        pools[pool.name] = pool
    return pools


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
