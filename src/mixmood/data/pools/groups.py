"""Images that belong together: of one patient, one video, one site."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import InputError, OptionError
from mixmood.data.files.manifest import ManifestSource
from mixmood.data.pools.pool import Pool


def group_names(pool: Pool, word: str) -> list[str]:
    """The group of every image of a pool.

    Args:
        pool: The pool.
        word: The name of a column of the pool's table, or a pattern (a regular expression) that
            is searched for in the path of each image; its first bracket, or all of it, is the
            group, as in `patient(\\d+)`.
    """
    if isinstance(pool, ManifestSource) and (column := pool.column(word)) is not None:
        return column
    try:
        pattern = re.compile(word)
    except re.error as error:
        raise OptionError(
            f"groups must be a column of {pool.name} or a pattern on its paths; got '{word}' "
            f"({error})."
        ) from error
    return [_group(pattern, pool, index) for index in range(len(pool))]


def _group(pattern: "re.Pattern[str]", pool: Any, index: int) -> str:
    place = pool.locate(index) if hasattr(pool, "locate") else f"{pool.name}[{index}]"
    found = pattern.search(place)
    if found is None:
        raise InputError(
            f"groups '{pattern.pattern}' is no column of {pool.name} and is not found in {place}. "
            "Give a column of its table, or a pattern that every path has, such as patient(\\d+)."
        )
    return str(found.group(1) if pattern.groups else found.group(0))


def group_codes(names: list[str]) -> NDArray[np.int64]:
    """A number for each group.

    >>> group_codes(["b", "a", "b"]).tolist()
    [1, 0, 1]
    """
    return np.asarray(np.unique(names, return_inverse=True)[1], np.int64)
