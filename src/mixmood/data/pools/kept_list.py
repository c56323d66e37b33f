"""The lists that `mixmood filter` writes: text, CSV or Parquet files that name the kept images.

Every row of a CSV or Parquet list has the path and the index of an image and the name of its pool.
A text list names the pool in its first line and has one path a line.
"""

import csv
import os
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mixmood.core.arrays import Rows
from mixmood.core.errors import InputError, reason
from mixmood.core.files.places import expanded
from mixmood.core.files.spreadsheet import inert
from mixmood.data.pools.path_options import is_url_or_noise, split_options

COLUMNS = ("path", "pool", "index", "keep")
"""The columns of a list of kept images; a list may have others."""
TEXT_HEAD = "# mixmood filter; pool: "
"""The start of the first line of a text list."""
SUFFIXES = (".csv", ".parquet", ".txt")
UNKNOWN = -1
"""The index of every row of a text list."""


@dataclass(frozen=True, slots=True)
class KeptRow:
    """The path and the index of a kept image, and the name of its pool."""

    path: str
    index: int
    pool: str


class KeptList(NamedTuple):
    """The name of a pool, and the indices and paths of its kept images."""

    pool: str
    indices: Rows
    paths: list[str]


def is_kept_list(path: Path) -> bool:
    """Whether a text, CSV or Parquet file was written by `mixmood filter`.

    False for a file that cannot be read: opening it as another kind of pool reports the reason.
    """
    if path.suffix.lower() == ".parquet":
        return set(COLUMNS) <= set(_parquet_columns(path))
    try:
        head = _first_line(path)
    except OSError:
        return False
    if head.startswith(TEXT_HEAD):
        return True
    return path.suffix.lower() == ".csv" and set(COLUMNS) <= set(head.strip().split(","))


def read_kept_list(path: Path) -> KeptList:
    """The content of a list; InputError if it is damaged, names two pools or keeps no image."""
    try:
        found = _read(path)
    except Exception as error:
        # Damaged files raise many kinds of errors, some of them pyarrow's.
        raise InputError(
            f"{path} is not a list of mixmood filter: {reason(error)}. Filter the pool again."
        ) from error
    if not len(found.indices):
        raise InputError(f"{path} keeps no image. Filter again with a larger --keep.")
    return found


def chain_of_lists(path: Path) -> list[Path]:
    """The list, the list that is its pool, and so on; empty for a file that is not a list.

    InputError if a list is its own pool. The chain ends before a list that is damaged.
    """
    found: list[Path] = []
    place = _resolved(path)
    while place is not None and _is_list_file(place):
        if place in found:
            raise InputError(f"{path} is a list of itself: {place} names it as its pool.")
        found.append(place)
        pool = _first_pool(place)
        if pool is None or is_url_or_noise(pool):
            break
        place = _resolved(place.parent / pool)
    return found


def pool_reference(pool: str, out: Path) -> str:
    """The name of a pool in the list `out`: relative if the pool lies beside or below the list."""
    text = pool if is_url_or_noise(pool) else _relative(expanded(pool).resolve(), out)
    has_break = out.suffix.lower() == ".txt" and ("\n" in text or "\r" in text)
    if has_break or text.encode("utf-8", "replace").decode() != text:
        raise InputError(
            f"A list cannot name the pool {text!r}: its path has a line break, or is not UTF-8 "
            "text. Rename the folder."
        )
    # A spreadsheet takes "=a" for a formula. "./=a" is the same path, and no formula.
    return text if inert(text) == text else f"./{text}"


def pool_place(path: Path, pool: str) -> str:
    """The absolute path, or the URL, of the pool that the list at `path` names."""
    return pool if is_url_or_noise(pool) else str(path.resolve().parent / pool)


def _relative(place: Path, out: Path) -> str:
    folder = out.resolve().parent
    return place.relative_to(folder).as_posix() if place.is_relative_to(folder) else str(place)


def _resolved(path: Path) -> Path | None:
    """The absolute path without options; None for a text that cannot be a path."""
    try:
        return split_options(path).path.resolve()
    except (OSError, ValueError, RuntimeError):
        return None


def _is_list_file(path: Path) -> bool:
    # Not `Path.is_file`, which raises for names that are too long.
    is_file = os.path.isfile(path)  # noqa: PTH113
    return path.suffix.lower() in SUFFIXES and is_file and is_kept_list(path)


def _first_pool(path: Path) -> str | None:
    """The pool that the first row names; None for a list that is empty or damaged."""
    try:
        first = next(_rows(path), None)
    except Exception:
        # As in `read_kept_list`, which reports it when the list is opened.
        return None
    return None if first is None else first.pool


def _read(path: Path) -> KeptList:
    pools: set[str] = set()
    indices, paths = array("q"), []
    for row in _rows(path):
        pools.add(row.pool)
        if len(pools) > 1:
            raise ValueError(
                f"it names two pools, {' and '.join(sorted(pools))}; give one list each"
            )
        indices.append(row.index)
        paths.append(row.path)
    return KeptList(next(iter(pools), ""), np.array(indices, dtype=np.int64), paths)


def _rows(path: Path) -> Iterator[KeptRow]:
    if path.suffix.lower() == ".parquet":
        return _parquet_rows(path)
    return _text_rows(path) if _first_line(path).startswith(TEXT_HEAD) else _csv_rows(path)


def _first_line(path: Path) -> str:
    with path.open("rb") as file:
        return file.readline(4096).decode("utf-8", "replace")


def _csv_rows(path: Path) -> Iterator[KeptRow]:
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, strict=True):
            if None in row or None in row.values():
                raise ValueError(f"the row of '{row.get('path')}' has too few or too many fields")
            if int(row["keep"]):
                yield KeptRow(row["path"], int(row["index"]), row["pool"])


def _text_rows(path: Path) -> Iterator[KeptRow]:
    with path.open(encoding="utf-8", newline="\n") as file:
        pool = file.readline().removeprefix(TEXT_HEAD).rstrip("\n")
        for line in file:
            yield KeptRow(line.rstrip("\n"), UNKNOWN, pool)


def _parquet_columns(path: Path) -> list[str]:
    try:
        from pyarrow import parquet

        with parquet.ParquetFile(path) as file:
            return list(file.schema_arrow.names)
    except Exception:
        # Damaged, or without pyarrow: opening the file as a pool reports it.
        return []


def _parquet_rows(path: Path) -> Iterator[KeptRow]:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=list(COLUMNS), use_threads=False):
            for row in batch.to_pylist():
                if row["keep"]:
                    yield KeptRow(str(row["path"]), int(row["index"]), str(row["pool"]))
