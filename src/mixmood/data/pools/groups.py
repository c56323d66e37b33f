"""Images that belong together: of one patient, one video, one site."""

import re
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import InputError, OptionError
from mixmood.data.pools.pool import Pool


@runtime_checkable
class HasColumns(Protocol):
    """A pool that is a table."""

    def column(self, name: str) -> list[str] | None:
        """The values of a column, one for each image; None without it."""


def group_names(pool: Pool, column_or_pattern: str) -> list[str]:
    """The group of every image of a pool.

    Args:
        pool: The pool.
        column_or_pattern: A column of the pool, if it is a CSV or TSV list of paths or a Parquet
            table; or a regular expression that is searched for in the path of each image. Its
            first capture group is the name of the image's group, as in `patient(\\d+)`; without
            one, the whole match is.
    """
    column = pool.column(column_or_pattern) if isinstance(pool, HasColumns) else None
    if column is not None:
        return column
    try:
        pattern = re.compile(column_or_pattern)
    except re.error as error:
        raise OptionError(
            f"groups must be a column of {pool.name} or a regular expression for its paths; got "
            f"'{column_or_pattern}' ({error})."
        ) from error
    return [_group(pattern, pool, index) for index in range(len(pool))]


def _group(pattern: "re.Pattern[str]", pool: Any, index: int) -> str:
    place = pool.locate(index) if hasattr(pool, "locate") else f"{pool.name}[{index}]"
    found = pattern.search(place)
    # A capture group that took no part in the match is None.
    name = None if found is None else found.group(1 if pattern.groups else 0)
    if name is None:
        raise InputError(
            f"groups '{pattern.pattern}' is not a column of {pool.name} and is not found in "
            f"{place}. Give a column of its table, or a pattern that every path has, such as "
            "patient(\\d+)."
        )
    return str(name)


def group_codes(names: list[str]) -> NDArray[np.int64]:
    """A number for each group.

    >>> group_codes(["b", "a", "b"]).tolist()
    [1, 0, 1]
    """
    return np.asarray(np.unique(names, return_inverse=True)[1], np.int64)
