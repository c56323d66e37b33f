"""A pool that is a part of another pool: the rows that `mixmood filter` kept.

The list names the pool and the index of every image, so that members of archives, rows of Parquet
files and arrays are found again. The path of each row must be that of the image at its index: a
pool that changed is noticed, and a list from elsewhere cannot pick files of this machine by number.
"""

import csv
import hashlib
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from mixmood.core.arrays import Array, Rows
from mixmood.core.errors import InputError, reason
from mixmood.core.files.spreadsheet import inert
from mixmood.data.pools.pool import FeatureSource, ImageSource, Labels, Pool, Raw, Source

COLUMNS = ("path", "pool", "index", "keep")
"""The columns that make a table a list of kept images; others may stand beside them."""
TEXT_HEAD = "# mixmood filter; pool: "
"""How the first line of a text list begins."""

SUFFIXES = (".csv", ".parquet", ".txt")
"""How the name of a list ends."""
UNKNOWN = -1
"""The index of a row in a list that has only paths."""

S = TypeVar("S", ImageSource, FeatureSource)
Opener = Callable[[str], Pool]


@dataclass(frozen=True, slots=True)
class KeptRow:
    """One kept image: what it is called, its index, and the pool that it belongs to."""

    path: str
    index: int
    pool: str


class _KeptPart(Source, Generic[S]):
    """What a part of a pool has, whatever the pool is made of."""

    _base: S

    def __init__(self, base: S, indices: Rows, name: str) -> None:
        """Keep the images or rows of `base` at these indices."""
        self.name = name
        self._base, self._indices = base, indices

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._indices)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the whole pool's fingerprint and of the indices."""
        return _digest(self._base, self._indices)

    @cached_property
    def labels(self) -> Labels | None:
        """The classes of what is kept, where the pool has classes."""
        return _labels(self._base, self._indices)


class KeptImages(_KeptPart[ImageSource], ImageSource):
    """Some images of a pool, in the order of their indices."""

    def fetch(self, index: int) -> Raw:
        """The image as its pool stores it."""
        return self._base.fetch(int(self._indices[index]))

    def locate(self, index: int) -> str:
        """What its pool calls the image."""
        return self._base.locate(int(self._indices[index]))

    def file_path(self, index: int) -> bytes | None:
        """The path of the image's own file, if it has one."""
        return self._base.file_path(int(self._indices[index]))

    def reading_order(self, indices: Rows) -> Rows:
        """The order that is quickest in the whole pool."""
        return self._base.reading_order(self._indices[indices])


class KeptFeatures(_KeptPart[FeatureSource], FeatureSource):
    """Some rows of a pool of features."""

    @property
    def width(self) -> int:
        """How many features a row has."""
        return self._base.width

    def features(self, indices: Rows) -> Array:
        """The rows asked for."""
        return self._base.features(self._indices[np.asarray(indices)])


def is_kept_list(path: Path) -> bool:
    """Whether a text, CSV or Parquet file was written by `mixmood filter`."""
    if path.suffix.lower() == ".parquet":
        return set(COLUMNS) <= set(_parquet_columns(path))
    with path.open("rb") as file:
        head = file.readline(4096).decode("utf-8", "replace")
    if head.startswith(TEXT_HEAD):
        return True
    return path.suffix.lower() == ".csv" and set(COLUMNS) <= set(head.strip().split(","))


def open_kept(path: Path, name: str, open_base: Opener) -> Pool:
    """The pool of the images that a list keeps.

    Args:
        path: The list.
        name: What to call the pool.
        open_base: Opens the pool that the list names.
    """
    try:
        where, indices, paths = _read(path)
    except (OSError, ValueError, csv.Error) as error:
        raise InputError(f"{path} is no list of mixmood filter: {reason(error)}.") from error
    if not len(indices):
        raise InputError(f"{path} keeps no image. Filter again with a larger --keep.")
    lists_below(path)
    base = open_base(_place(path, where))
    if indices[0] == UNKNOWN:
        indices = _indices_of(base, paths, path)
    _check_unchanged(path, base, indices, paths)
    if isinstance(base, FeatureSource):
        return KeptFeatures(base, indices, name)
    return KeptImages(base, indices, name)


def pool_word(pool: str, out: Path) -> str:
    """How a list in `out` names the pool: relative where the pool lies beside or below the list."""
    word = pool if _is_word(pool) else _relative(Path(pool).expanduser().resolve(), out)
    has_break = out.suffix.lower() == ".txt" and ("\n" in word or "\r" in word)
    if has_break or word.encode("utf-8", "replace").decode() != word:
        raise InputError(
            f"A list cannot name the pool {word!r}: its path has a line break, or is no UTF-8 text."
            " Rename the folder."
        )
    # With a point in front, a spreadsheet does not take it for a formula, and no quote is added.
    return word if inert(word) == word else f"./{word}"


def _relative(place: Path, out: Path) -> str:
    folder = out.resolve().parent
    return place.relative_to(folder).as_posix() if place.is_relative_to(folder) else str(place)


def lists_below(path: Path) -> list[Path]:
    """The list and the lists that it rests on; one that rests on itself is refused.

    A file that is no list gives an empty chain.
    """
    found: list[Path] = []
    place = path.resolve()
    while place.is_file() and place.suffix.lower() in SUFFIXES and is_kept_list(place):
        if place in found:
            raise InputError(f"{path} is a list of itself: {place} names it as its pool.")
        found.append(place)
        first = next(_rows(place), None)
        if first is None or _is_word(first.pool):
            break
        place = (place.parent / first.pool).resolve()
    return found


def _place(path: Path, pool: str) -> str:
    """Where the pool is that a list names."""
    return pool if _is_word(pool) else str(path.resolve().parent / pool)


def _is_word(pool: str) -> bool:
    """Whether the name of a pool is no path: a URL, or noise."""
    return "://" in pool or pool.startswith("noise:")


def _indices_of(base: Pool, paths: list[str], path: Path) -> Rows:
    """The index of every path, by looking through the names of the pool once."""
    wanted = set(paths)
    found: dict[str, int] = {}
    for index in range(len(base)):
        if (entry := located(base, index)) in wanted:
            found.setdefault(entry, index)
    if missing := [entry for entry in paths if entry not in found]:
        raise InputError(
            f"{path} does not fit its pool any more: '{missing[0]}' is gone. Filter the pool again."
        )
    return np.array([found[entry] for entry in paths], dtype=np.int64)


def _read(path: Path) -> tuple[str, Rows, list[str]]:
    """The pool's place, the kept indices and their paths."""
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
    return next(iter(pools), ""), np.array(indices, dtype=np.int64), paths


def _rows(path: Path) -> Iterator[KeptRow]:
    if path.suffix.lower() == ".parquet":
        return _parquet_rows(path)
    with path.open("rb") as file:
        is_text = file.readline(4096).decode("utf-8", "replace").startswith(TEXT_HEAD)
    return _text_rows(path) if is_text else _csv_rows(path)


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
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            return list(file.schema_arrow.names)
    except Exception:  # damaged: opening it as a pool reports what is wrong
        return []


def _parquet_rows(path: Path) -> Iterator[KeptRow]:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=list(COLUMNS), use_threads=False):
            for row in batch.to_pylist():
                if row["keep"]:
                    yield KeptRow(str(row["path"]), int(row["index"]), str(row["pool"]))


def _check_unchanged(path: Path, base: Pool, indices: Rows, paths: list[str]) -> None:
    """Refuse a list whose paths are not those of the pool at the same indices."""
    for index, entry in zip(indices.tolist(), paths, strict=True):
        found = located(base, index) if 0 <= index < len(base) else None
        if found is None or entry not in (found, inert(found)):
            raise InputError(
                f"{path} does not fit its pool any more: image {index} was '{entry}' and is now "
                f"{'gone' if found is None else repr(found)}. Filter the pool again."
            )


def located(pool: Pool, index: int) -> str:
    """What to call an image of any pool; rows of features are called by their index."""
    return pool.locate(index) if isinstance(pool, ImageSource) else f"{pool.name}[{index}]"


def _digest(base: Pool, indices: Rows) -> str:
    state = hashlib.sha256(f"kept {base.fingerprint}".encode())
    state.update(np.ascontiguousarray(indices, dtype="<i8").tobytes())
    return state.hexdigest()


def _labels(base: Any, indices: Rows) -> Labels | None:
    labels: Labels | None = base.labels
    return None if labels is None else Labels(labels.codes[indices], labels.names)
