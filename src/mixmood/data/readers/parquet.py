"""A pool in Parquet files with a column of images, as Hugging Face stores its data sets."""

import hashlib
import json
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mixmood.core.errors import InputError, UnreadableImageError, errors_as, needing, reason
from mixmood.core.text import unknown_name
from mixmood.data.images.labels import LABEL_COLUMNS, labels_from_values
from mixmood.data.images.pool import ImageSource, Labels

_IMAGE_COLUMNS = ("image", "img", "picture", "photo", "bytes")


class Columns(NamedTuple):
    """The columns of images and of classes, and the names of the classes if the table has them."""

    image: str
    is_struct: bool
    label: str | None
    class_names: tuple[str, ...] | None


def choose_columns(path: Path, schema: Any, wanted: str | None) -> Columns:
    """The columns of a table; InputError without images, OptionError without the one wanted."""
    from pyarrow.types import is_binary, is_large_binary, is_struct

    # How Hugging Face describes the columns; the metadata may have none, or be of another kind.
    features: dict[str, dict[str, Any]] = {}
    with suppress(AttributeError, KeyError, TypeError, ValueError, RecursionError):
        found = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        features = {name: kind for name, kind in found.items() if isinstance(kind, dict)}
    stated = {name: kind.get("_type") for name, kind in features.items()}
    types = {field.name: field.type for field in schema}
    structs = [n for n, t in types.items() if is_struct(t) and t.get_field_index("bytes") >= 0]
    binaries = [n for n, t in types.items() if is_binary(t) or is_large_binary(t)]
    named = [name for name in binaries if name.lower() in _IMAGE_COLUMNS]
    images = [name for name in (*structs, *binaries) if stated.get(name) == "Image"]
    image = next(iter([*images, *structs, *named]), None)
    if image is None:
        raise InputError(
            f"{path} has no column of images (bytes, or a struct with a field 'bytes'); "
            f"it has: {', '.join(types) or 'none'}."
        )
    if wanted is not None and wanted not in types:
        raise unknown_name("label column", wanted, types)
    classes = [name for name in types if stated.get(name) == "ClassLabel"]
    usual = [n for n, kind in types.items() if n.lower() in LABEL_COLUMNS and _may_be_classes(kind)]
    label = wanted or next(iter([*classes, *usual]), None)
    names = features.get(label or "", {}).get("names")
    class_names = tuple(map(str, names)) if names and isinstance(names, list) else None
    return Columns(image, image in structs, label, class_names)


def _may_be_classes(kind: Any) -> bool:
    """Whether a column of this type of Arrow holds whole numbers, bools or texts of any kind."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return _may_be_classes(kind.value_type)
    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return bool(is_text or types.is_integer(kind) or types.is_boolean(kind))


_MAX_GROUP_BYTES, _MAX_COLUMN_BYTES = 2 * 2**30, 256 * 2**20  # of images; of classes or groups
_ROWS_PER_BATCH = 16
_CACHE_BYTES = 256 * 2**20
_MISSING = (None, -1, "")  # labels that stand for no class; -1 is that of Hugging Face


class _Group(NamedTuple):
    path: Path
    place: int
    n_rows: int
    n_bytes: int


class ParquetSource(ImageSource):
    """The images of one Parquet file, or of several with the same columns, in their order.

    The image column is the one that the Hugging Face metadata calls an image, else the first
    struct with a field `bytes`, else a binary column with a usual name. To read an image its whole
    row group is read, because Parquet has no smaller unit; the latest, up to 256 MiB, stay.
    """

    def __init__(
        self, paths: str | Path | Sequence[Path], name: str, label: str | None = None
    ) -> None:
        """Read the metadata; refuse files that are broken or have no column of images."""
        self.name = name
        self._paths = [Path(paths)] if isinstance(paths, str | Path) else list(paths)
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Group, Any] = OrderedDict()
        self._broken: dict[_Group, str] = {}
        found = [_metadata(path, label) for path in self._paths]
        self._columns = found[0][0]
        for path, (columns, _) in zip(self._paths, found, strict=True):
            if columns != self._columns:
                raise InputError(
                    f"{path} and {self._paths[0]} must have the same columns of images and labels. "
                    "Give them as two pools."
                )
        self._groups = [group for _, groups in found for group in groups]
        self._starts = np.cumsum([0, *(group.n_rows for group in self._groups)]).tolist()
        if not len(self):
            raise InputError(f"No images in {self._paths[0]}: it has no rows.")

    def __len__(self) -> int:
        """The number of rows according to the metadata."""
        return int(self._starts[-1])

    def fetch(self, index: int) -> bytes:
        """The bytes of the image; unreadable if the table has only a path to it."""
        number = bisect_right(self._starts, index) - 1
        with errors_as(UnreadableImageError, f"{self.locate(index)}: cannot be read"):
            with self._lock:
                column = self._load(self._groups[number])
            value = column[index - self._starts[number]].as_py()
        if not isinstance(value, bytes):
            raise UnreadableImageError(f"{self.locate(index)}: there are no bytes in the table.")
        return value

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the sizes of all row groups: a change of an image nearly always shows."""
        sizes = [(group.n_rows, group.n_bytes) for group in self._groups]
        return hashlib.sha256(f"parquet {self._columns} {sizes}".encode()).hexdigest()

    @cached_property
    def labels(self) -> Labels | None:
        """The classes of the label column; None without such a column or if a label is missing."""
        if self._columns.label is None:
            return None
        values = self._label_values
        if any(value in _MISSING for value in values):
            return None
        # Not an array of texts, in which each of them has the size of the longest.
        kind = object if isinstance(values[0], str) else None
        return labels_from_values(np.array(values, kind), self.name, self._columns.class_names)

    @cached_property
    def why_unlabelled(self) -> str:
        """A sentence about missing labels, or labels that are no classes; empty without either."""
        if self.labels is not None:
            return ""
        if self._columns.label is None:
            with self._naming("its columns"), _parquet_file(self._paths[0]) as file:
                unfit = [one for one in file.schema_arrow if one.name.lower() in LABEL_COLUMNS]
            return "".join(
                f"Its column '{one.name}' holds values of the type {one.type}; classes are whole "
                "numbers or texts."
                for one in unfit[:1]
            )
        n_missing = sum(value in _MISSING for value in self._label_values)
        return f"{n_missing} of {len(self)} labels in '{self._columns.label}' are missing."

    @property
    def _label_values(self) -> list[Any]:
        with self._naming(f"the column of labels, '{self._columns.label}',"):
            return self._values(str(self._columns.label))

    def column(self, name: str) -> list[str] | None:
        """The values of a column as text, one for each image; None without it."""
        with self._naming(f"the column '{name}'"):
            with _parquet_file(self._paths[0]) as file:
                plain = [one.name for one in file.schema_arrow if not one.type.num_fields]
            names = {one.lower(): one for one in plain if one != self._columns.image}
            found = names.get(name.strip().lower())
            return None if found is None else [str(value) for value in self._values(found)]

    def _values(self, column: str) -> list[Any]:
        pieces = _read_column(self._paths, column, None)
        return [value for piece in pieces for value in piece.to_pylist()]

    def _naming(self, what: str) -> AbstractContextManager[None]:
        return errors_as(InputError, f"{self.name}: {what} cannot be read")

    def _load(self, group: _Group) -> Any:
        import pyarrow

        if group in self._kept:
            self._kept.move_to_end(group)
            return self._kept[group]
        if group in self._broken:
            # So a decompression bomb is not unpacked again for each of its rows.
            raise ValueError(self._broken[group])
        if group.n_bytes > _MAX_GROUP_BYTES:
            raise ValueError(
                f"its row group has {group.n_bytes} bytes, more than the {_MAX_GROUP_BYTES} allowed"
            )
        path = f"{self._columns.image}.bytes" if self._columns.is_struct else self._columns.image
        try:
            column = pyarrow.chunked_array(_read_column([group.path], path, group.place))
        except Exception as error:
            self._broken[group] = reason(error)
            raise
        self._kept[group] = column
        # The size in memory counts, not that in the metadata: a repeated image is stored once. The
        # group just read always stays, even if it is larger than the limit.
        while len(self._kept) > 1 and sum(x.nbytes for x in self._kept.values()) > _CACHE_BYTES:
            self._kept.popitem(last=False)
        return column


def _parquet_file(path: Path) -> Any:
    with needing("Reading Parquet", "hub"):
        import pyarrow.parquet
    return pyarrow.parquet.ParquetFile(path)


def _metadata(path: Path, label: str | None) -> tuple[Columns, list[_Group]]:
    with (
        errors_as(InputError, f"Cannot open {path} as a Parquet file"),
        _parquet_file(path) as file,
    ):
        schema, metadata = file.schema_arrow, file.metadata
        rows = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
        groups = [
            _Group(path, place, row.num_rows, row.total_byte_size) for place, row in enumerate(rows)
        ]
        # A repeated image takes no space: a small file could claim any number of rows.
        n_rows, n_stored = sum(max(0, group.n_rows) for group in groups), path.stat().st_size
        if n_rows > n_stored or any(group.n_rows < 0 for group in groups):
            raise ValueError(f"it claims {n_rows} rows in {n_stored} bytes")
    return choose_columns(path, schema, label), groups


def _read_column(paths: Sequence[Path], column: str, group: int | None) -> list[Any]:
    """One column of whole files, or of one row group, in batches until it becomes too large."""
    groups = None if group is None else [group]
    most = _MAX_COLUMN_BYTES if groups is None else _MAX_GROUP_BYTES
    pieces, n_bytes = list[Any](), 0
    for path in paths:
        with _parquet_file(path) as file:
            for batch in file.iter_batches(_ROWS_PER_BATCH, groups, [column], use_threads=False):
                values = batch.column(0)
                if hasattr(values, "dictionary_decode"):  # a category, with all of its words
                    values = values.dictionary_decode()
                pieces.append(values.field("bytes") if hasattr(values, "field") else values)
                n_bytes += pieces[-1].nbytes
                if n_bytes > most:
                    what = "it" if groups is None else "its row group"
                    raise ValueError(f"{what} unpacks to more than {most} bytes")
    return pieces
