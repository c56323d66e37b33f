"""`mixmood.cache_info` and `mixmood.clear_cache`: the cache of features and archive indices."""

from pathlib import Path
from typing import TYPE_CHECKING

from mixmood.core.errors import InputError

if TYPE_CHECKING:
    from mixmood.core.cache import CacheInfo, FeatureCache


def cache_info(cache: str | Path | None = None) -> "CacheInfo":
    """Where the cache is, what it holds and how large it may grow.

    Args:
        cache: The directory of the cache; the user's own if None.
    """
    with _existing(cache) as store:
        return store.info()


def clear_cache(cache: str | Path | None = None) -> "CacheInfo":
    """Delete the content of the cache; returns a description of it before.

    Args:
        cache: The directory of the cache; the user's own if None.
    """
    with _existing(cache) as store:
        about = store.info()
        store.clear()
        _refuse_if_closed(store)
    return about


def _existing(directory: str | Path | None) -> "FeatureCache":
    from mixmood.core.cache import FILE_NAME, FeatureCache, cache_directory
    from mixmood.core.listener import Recorder

    place = cache_directory() if directory is None else directory
    if place is None:
        raise InputError(
            "There is no cache: MIXMOOD_CACHE is 'none', or this user has no home directory. "
            "Name one with --cache DIR."
        )
    if not (Path(place) / FILE_NAME).exists():
        raise InputError(f"There is no cache in {place}: nothing was kept there yet.")
    # A closed store is an error here: its warnings become the text of the error.
    store = FeatureCache(place, listener=Recorder())
    _refuse_if_closed(store)
    return store


def _refuse_if_closed(store: "FeatureCache") -> None:
    if not store.is_open:
        raise InputError(" ".join(store.warnings))
