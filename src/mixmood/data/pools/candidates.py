"""Opens and names the pools of a ranking; noise gets the size of the labelled images."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mixmood.core.cache.features import FeatureCache
from mixmood.core.errors import InputError, OptionError
from mixmood.core.files.places import expanded
from mixmood.data.files.names import shown_name
from mixmood.data.pools.noise import PREFIX as NOISE_PREFIX
from mixmood.data.pools.noise import with_size_and_seed
from mixmood.data.pools.open import open_pool
from mixmood.data.pools.pool import FeatureSource, Pool

# NAME=PATH; a NAME has no slash and no colon, so that neither a path nor a URL with "=" is split.
NAMED = re.compile(r"([^=/\\:]+)=(.+)", re.DOTALL)
N_LOOKED_AT = 8
"""Labelled images of which the first readable one gives the size of noise."""
SMALLEST_NOISE, LARGEST_NOISE = 8, 224


@dataclass(frozen=True)
class OpenedCandidates:
    """The pools by name, the user's path or object of each, and why others were not opened."""

    pools: dict[str, Pool]
    given: dict[str, Any]
    set_aside: dict[str, str]


def open_candidates(
    candidates: Mapping[str, Any] | Sequence[Any],
    labelled: Pool,
    seed: int,
    cache: FeatureCache | None = None,
    frames: str = "middle",
) -> OpenedCandidates:
    """The opened pools of a dictionary, or of a list, in which `web=crawl.zip` names a pool.

    A broken pool is set aside. A path that does not exist is an error: it is probably mistyped,
    and nothing has been computed yet.
    """
    pools: dict[str, Pool] = {}
    given: dict[str, Any] = {}
    set_aside: dict[str, str] = {}
    for number, (name, what) in enumerate(_named(candidates), start=1):
        # Labelled images are decoded only if noise needs their size.
        side = noise_size(labelled) if _is_noise_of_any_size(what) else None
        try:
            pool = open_pool(what, name, seed=seed, noise_size=side, cache=cache, frames=frames)
        except InputError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise
            is_path = isinstance(what, str | os.PathLike)
            called = shown_name(name or (str(what) if is_path else f"pool {number}"))
            _check_new(called, pools, set_aside)
            set_aside[called] = str(error)
            continue
        _check_new(pool.name, pools, set_aside)
        pools[pool.name], given[pool.name] = pool, what
    return OpenedCandidates(pools, given, set_aside)


def _check_new(name: str, *known: Mapping[str, object]) -> None:
    if any(name in names for names in known):
        raise OptionError(
            f"Two candidates are called '{name}'. Name them: NAME=PATH on the command "
            "line, a dictionary in Python."
        )


def _is_noise_of_any_size(what: Any) -> bool:
    """Whether a text asks for noise and does not give its size."""
    return (
        isinstance(what, str)
        and what.startswith(NOISE_PREFIX)
        and "size=" not in what.partition("?")[2]
    )


def _named(
    candidates: Mapping[str, Any] | Sequence[Any],
) -> Iterator[tuple[str | None, Any]]:
    """The name of each candidate, None if none was given, and its path or object."""
    if isinstance(candidates, Mapping):
        for name, what in candidates.items():
            if name is not None and not isinstance(name, str):
                raise OptionError(f"The name of a pool must be a text; got {name!r:.100}.")
            yield name, what
        return
    # One pool may be given without a list; the rows of an array are not pools.
    is_one = isinstance(candidates, str | Path | np.ndarray)
    listed: Iterable[Any] = [candidates] if is_one else candidates
    for what in listed:
        match = NAMED.fullmatch(what) if isinstance(what, str) else None
        # A file or folder may be called `x=y`: if it exists, it is the candidate.
        if match and not os.path.exists(expanded(what)):  # noqa: PTH110 - takes any text
            yield match[1], match[2]
        else:
            yield None, what


def with_noise_settings(what: Any, labelled: Pool | None, seed: int) -> Any:
    """The text of noise with its size and seed, so that it opens the same pool anywhere.

    Anything but the text of noise is returned unchanged.
    """
    if not isinstance(what, str) or not what.startswith(NOISE_PREFIX):
        return what
    if labelled is None or not _is_noise_of_any_size(what):
        return with_size_and_seed(what, None, seed)
    return with_size_and_seed(what, noise_size(labelled), seed)


def noise_size(labelled: Pool) -> int | None:
    """The side of noise images that have the size of the labelled images.

    Noise of another size would be smoothed or stretched differently before the backbone, which
    makes it another kind of noise. None if the labelled set holds features, or its first images
    cannot be read.
    """
    if isinstance(labelled, FeatureSource):
        return None
    for picture in labelled.read(range(min(len(labelled), N_LOOKED_AT))):
        if isinstance(picture, np.ndarray):
            return int(np.clip(min(picture.shape[:2]), SMALLEST_NOISE, LARGEST_NOISE))
    return None
