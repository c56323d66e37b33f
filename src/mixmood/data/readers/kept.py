"""A pool of parts of other pools, and such a part by a list: what `mixmood filter` kept.

The list names the pool and the index of every image. The path of each row must be that of the image
at its index: a changed pool is noticed, and a foreign list cannot choose files by number.
"""

import hashlib
import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Rows
from mixmood.core.errors import InputError, errors_as
from mixmood.core.files import expanded, inert
from mixmood.core.text import listed
from mixmood.data.images.decode import Raw
from mixmood.data.images.labels import read_table
from mixmood.data.images.names import is_url_or_noise, split_options
from mixmood.data.images.pixel_range import PixelRange
from mixmood.data.images.pool import FeatureSource, ImageSource, Labels, Pool, Source

COLUMNS = ("path", "pool", "index", "keep")  # those of a list of kept images; it may have others
TEXT_HEAD = "# mixmood filter; pool: "  # the start of the first line of a text list
SUFFIXES = (".csv", ".parquet", ".txt")
UNKNOWN = -1  # the index of every row of a text list


class KeptRow(NamedTuple):
    """A kept image: its path, its index in its pool, and the name of that pool."""

    path: str
    place: int
    pool: str


def chain_of_lists(path: Path) -> list[Path]:
    """The list, the list that is its pool, and so on to the first that is none, or is damaged."""
    found: list[Path] = []
    place: str | Path = path
    while not is_url_or_noise(place):
        try:
            place = split_options(Path(place))[0].resolve()
        except (OSError, ValueError, RuntimeError):
            break  # It cannot be a path.
        # Not `Path.is_file`, which raises for names that are too long.
        is_file = place.suffix.lower() in SUFFIXES and os.path.isfile(place)  # noqa: PTH113
        if not is_file or (rows := _kept_rows(place)) is None:
            break
        if place in found:
            raise InputError(f"{path} is a list of itself: {place} names it as its pool.")
        found.append(place)
        try:
            place = pool_place(place, next(rows).pool)
        except Exception:
            break  # It is empty or damaged, which `open_kept` reports.
    return found


def pool_reference(pool: str, out: Path) -> str:
    """The name of a pool in the list `out`: relative if the pool lies beside or below the list."""
    text = pool
    if not is_url_or_noise(pool):
        place, folder = expanded(pool).resolve(), out.resolve().parent
        is_below = place.is_relative_to(folder)
        text = place.relative_to(folder).as_posix() if is_below else str(place)
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


def _kept_rows(path: Path) -> Iterator[KeptRow] | None:
    """The rows of a list; None for a file that is not a list, or that cannot be read."""
    try:
        if path.suffix.lower() == ".parquet":
            from pyarrow import parquet

            with parquet.ParquetFile(path) as file:
                is_table = set(COLUMNS) <= set(file.schema_arrow.names)
            return _parquet_rows(path) if is_table else None
        with path.open("rb") as text:
            is_text = text.readline(len(TEXT_HEAD)).decode("utf-8", "replace") == TEXT_HEAD
        is_table = path.suffix.lower() == ".csv" and set(COLUMNS) <= set(read_table(path)[0])
    except Exception:
        return None  # Opening it as another kind of pool reports why.
    if is_text:
        return _text_rows(path)
    return _csv_rows(path) if is_table else None


def _csv_rows(path: Path) -> Iterator[KeptRow]:
    """The rows of a table, also as spreadsheets and pandas save it after a change of `keep`."""
    head, rows = read_table(path)
    columns = [head.index(name) for name in COLUMNS]
    for line, row in rows:
        entry, pool, index, keep = (row[column] for column in columns)
        word = keep.strip().lower().removesuffix(".0")
        if word not in ("1", "0", "true", "false"):
            raise ValueError(f"line {line} has '{keep[:20]}' in the column keep, not 1 or 0")
        if word in ("1", "true"):
            yield KeptRow(entry, int(index), pool)


def _text_rows(path: Path) -> Iterator[KeptRow]:
    with path.open(encoding="utf-8", newline="\n") as file:
        pool = file.readline().removeprefix(TEXT_HEAD).rstrip("\n")
        for line in file:
            yield KeptRow(line.rstrip("\n"), UNKNOWN, pool)


def _parquet_rows(path: Path) -> Iterator[KeptRow]:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=list(COLUMNS), use_threads=False):
            for row in batch.to_pylist():
                if row["keep"]:
                    yield KeptRow(str(row["path"]), int(row["index"]), str(row["pool"]))


S = TypeVar("S", ImageSource, FeatureSource)


class _Parts(Source, Generic[S]):
    """Images or rows of one pool or of several, one pool after the other."""

    def __init__(
        self, parts: Sequence[tuple[S, Rows]], name: str, labels: Labels | None = None
    ) -> None:
        """Take the images of each pool at these indices."""
        self.name, self._labels = name, labels
        self._parts: list[tuple[S, Rows]] = list(parts)
        self._ends: list[int] = np.cumsum([len(rows) for _, rows in parts]).tolist()

    @property
    def bases(self) -> tuple[S, ...]:
        """The pools that the images are of."""
        return tuple(source for source, _ in self._parts)

    def __len__(self) -> int:
        """How many there are."""
        return self._ends[-1]

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the pools, the indices and the labels that were given."""
        state = hashlib.sha256(b"parts")
        for source, rows in self._parts:
            state.update(source.fingerprint.encode() + rows.astype("<i8").tobytes())
        if self._labels is not None:
            state.update(self._labels.codes.tobytes() + "\n".join(self._labels.names).encode())
        return state.hexdigest()

    @cached_property
    def labels(self) -> Labels | None:
        """The classes that were given, or those of the first pool; None if it has none."""
        source, rows = self._parts[0]
        if self._labels is not None or source.labels is None:
            return self._labels
        return Labels(source.labels.codes[rows], source.labels.names)

    def at(self, index: int) -> tuple[S, int]:
        """The pool of an image, and its index there."""
        part = bisect_right(self._ends, index)
        source, rows = self._parts[part]
        return source, int(rows[index - self._ends[part]])

    def split(self, indices: Rows) -> Iterator[tuple[S, Rows, Rows]]:
        """For each pool that has some of the images: their places in `indices`, and their rows."""
        wanted = np.asarray(indices)
        of_part = np.searchsorted(self._ends, wanted, "right")
        for part in np.unique(of_part).tolist():
            (source, rows), places = self._parts[part], np.flatnonzero(of_part == part)
            yield source, places, rows[wanted[places] - self._ends[part]]

    def locate(self, index: int) -> str:
        """The name of the image in its own pool."""
        source, row = self.at(index)
        return source.locate(row)

    def column(self, name: str) -> list[str] | None:
        """The values of a column; images of a pool without it are named by their place."""
        if self._parts[0][0].column(name) is None:
            return None
        found: list[str] = []
        for source, rows in self._parts:
            values = source.column(name)
            found += map(source.locate if values is None else values.__getitem__, rows.tolist())
        return found


class PartImages(_Parts[ImageSource], ImageSource):
    """Some images of pools; all are scaled as those of the first pool."""

    def fetch(self, index: int) -> Raw:
        """The image as its pool stores it."""
        source, row = self.at(index)
        return source.fetch(row)

    def file_path(self, index: int) -> bytes | None:
        """The path of the image's own file, if it has one."""
        source, row = self.at(index)
        return source.file_path(row)

    def reading_order(self, indices: Rows) -> Rows:
        """The order that is quickest in each pool, one pool after the other."""
        order = [places[source.reading_order(rows)] for source, places, rows in self.split(indices)]
        return np.concatenate([np.empty(0, np.int64), *order])

    def wide_values(self, index: int) -> NDArray[Any] | None:
        """The values of an image of more than eight bits as stored; None for any other."""
        source, row = self.at(index)
        return source.wide_values(row)

    def scaled_by(self, pixel_range: PixelRange | None) -> Self:
        """This pool with its images of more than eight bits scaled by this range."""
        pool = super().scaled_by(pixel_range)
        # A pool of DICOM frames applies the range itself when it fetches a frame.
        pool._parts = [(source.scaled_by(pixel_range), rows) for source, rows in self._parts]
        return pool


class PartFeatures(_Parts[FeatureSource], FeatureSource):
    """Some rows of pools of features."""

    @property
    def width(self) -> int:
        """How many features a row has."""
        return self._parts[0][0].width

    def features(self, indices: Rows) -> Array:
        """The rows asked for."""
        found = list(self.split(indices))
        if not found:
            return self._parts[0][0].features(np.empty(0, np.int64))
        values = np.concatenate([source.features(rows) for source, _, rows in found])
        return values[np.argsort(np.concatenate([places for _, places, _ in found]))]


def parts_of(parts: Sequence[tuple[Any, Rows]], name: str, labels: Labels | None = None) -> Pool:
    """Some images, or some rows of features, of one pool or of several as one pool."""
    if isinstance(parts[0][0], FeatureSource):
        return PartFeatures(parts, name, labels)
    pool = PartImages(parts, name, labels)
    pool.pixel_range = parts[0][0].pixel_range
    return pool


def open_kept(path: Path, name: str, open_base: Callable[[str], Pool]) -> Pool | None:
    """The pool of the images that a list of `mixmood filter` keeps; None for another file.

    `open_base` opens the pool that it names.
    """
    if (kept := _kept_rows(path)) is None:
        return None
    with errors_as(InputError, f"{path} is not a list of mixmood filter", "Filter the pool again."):
        found = list(kept)
        indices, paths = (
            np.array([row.place for row in found], np.int64),
            [row.path for row in found],
        )
        pools = sorted({row.pool for row in found})
        if len(pools) > 1:
            raise ValueError(f"it names two pools, {listed(pools)}; give one list each")
    if not pools:
        raise InputError(f"{path} keeps no image. Filter again with a larger --keep.")
    # Refuses a list that is its own pool, which would be opened without end.
    chain_of_lists(path)
    base = open_base(pool_place(path, pools[0]))
    if indices[0] == UNKNOWN:
        # Of several images with one name, the first.
        wanted, rows = set(paths), reversed(range(len(base)))
        places = {name: index for index in rows if (name := base.locate(index)) in wanted}
        indices = np.array([places.get(entry, UNKNOWN) for entry in paths], np.int64)
    for index, entry in zip(indices.tolist(), paths, strict=True):
        now = base.locate(index) if 0 <= index < len(base) else None
        if now is None or entry not in (now, inert(now)):
            raise InputError(
                f"{path} does not fit its pool any more: '{entry}' "
                f"{'is gone' if now is None else f'was image {index}, which is now {now!r}'}. "
                "Filter the pool again."
            )
    return parts_of([(base, indices)], name)
