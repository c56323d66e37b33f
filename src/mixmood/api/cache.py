"""`mixmood.cache_info` and `mixmood.clear_cache`: the cache of features and archive indices."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mixmood.core.cache import FILE_NAME, CacheInfo, FeatureCache, cache_directory
from mixmood.core.errors import InputError
from mixmood.core.listener import Recorder


def cache_info(cache: str | Path | None = None) -> CacheInfo:
    """Where the cache is, what it holds and how large it may grow.

    Args:
        cache: The directory of the cache; the user's own if None.
    """
    with _existing(cache) as store:
        return store.info()


def clear_cache(cache: str | Path | None = None) -> CacheInfo:
    """Delete the content of the cache; returns a description of it before.

    Args:
        cache: The directory of the cache; the user's own if None.
    """
    with _existing(cache) as store:
        about = store.info()
        store.clear()
    return about


@contextmanager
def _existing(directory: str | Path | None) -> Iterator[FeatureCache]:
    """The cache; InputError if there is none, or it cannot be used to the end."""
    place = cache_directory() if directory is None else directory
    if place is None:
        raise InputError(
            "There is no cache: MIXMOOD_CACHE is 'none', or this user has no home directory. "
            "Name one with --cache DIR."
        )
    if not (Path(place) / FILE_NAME).exists():
        raise InputError(f"There is no cache in {place}: nothing was kept there yet.")
    with FeatureCache(place, listener=Recorder()) as store:
        yield store
        if not store.is_open:
            raise InputError(" ".join(store.warnings))
