"""A pool that is a list of paths in a text or CSV file."""

import csv
import os
from array import array
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np

from mixmood.core.errors import InputError, UnreadableImageError, reason
from mixmood.core.files.bounded import read_image_file
from mixmood.data.files.named_files import PathSource
from mixmood.data.files.names import Names, shown_bytes
from mixmood.data.labels.folder_names import labels_from_table
from mixmood.data.labels.tables import label_column, lines_of, path_column, table_rows
from mixmood.data.pools.pool import Labels

_N_CHECKED = 100


class ManifestSource(PathSource):
    """The images that a list names, in its order; paths are relative to the list.

    A .txt list has one path a line; empty lines and lines that start with # are ignored. A .csv or
    .tsv list, with commas, semicolons or tabs, has a header with a column `path` and optionally a
    column `label`; `data/labels/tables.py` has other names for them. A list with a blank label
    counts as unlabelled. Folders are separated by / or, as on Windows, by \\, on every system. A
    path that leaves the folder of the list is refused: a foreign list must not choose other files
    of this machine.
    """

    def __init__(self, path: str | Path, name: str, label: str | None = None) -> None:
        """Read the list, not the images; refuse a file that is not a list of images.

        Args:
            path: The list.
            name: The name of the pool in results.
            label: The column with the classes; by default one of LABEL_COLUMNS.
        """
        self.name = name
        self._label = label
        self._path = Path(path)
        self._root = os.fsencode(self._path.resolve().parent)
        self._codes = array("i")
        self._table: dict[bytes, int] = {}
        is_table = self._path.suffix.lower() in (".csv", ".tsv")
        try:
            self._names = Names.in_order(self._rows() if is_table else self._paths())
        except (OSError, ValueError, csv.Error) as error:
            raise self._no_list(reason(error)) from error
        self._check_some_exist()

    def fetch(self, index: int) -> bytes:
        """The bytes of the file; a link that leaves the folder of the list is not followed."""
        where = self.locate(index)
        path = self.file_path(index)
        if path is None:
            raise UnreadableImageError(f"{where}: a link that leaves the folder of the list.")
        return read_image_file(path, where)

    def file_path(self, index: int) -> bytes | None:
        """The path of the file; None for a link that leaves the folder of the list."""
        path = os.path.realpath(self._absolute(index))
        return path if path.startswith(self._root.rstrip(b"/") + b"/") else None

    @cached_property
    def labels(self) -> Labels | None:
        """The classes of the label column; None without such a column or if a label is blank."""
        if not self._table or b"" in self._table:
            return None
        return labels_from_table(np.array(self._codes, dtype=np.int32), self._table)

    @property
    def why_unlabelled(self) -> str:
        """A sentence about blank labels; empty if there are none."""
        if b"" not in self._table:
            return ""
        blank = self._table[b""]
        n_blank, first = self._codes.count(blank), self.locate(self._codes.index(blank))
        return (
            f"{n_blank} of its {len(self)} labels are blank: fill them in, or drop these rows. "
            f"The first is that of {first}."
        )

    def column(self, name: str) -> list[str] | None:
        """The values of a column of a CSV or TSV list, one for each image; None without it."""
        if self._path.suffix.lower() not in (".csv", ".tsv"):
            return None
        rows = table_rows(self._path)
        _, head = next(rows)
        if name.strip().lower() not in head:
            return None
        place = head.index(name.strip().lower())
        return [row[place].strip() for _, row in rows]

    def _absolute(self, index: int) -> bytes:
        return os.path.join(self._root, self._names[index])  # noqa: PTH118 - paths are bytes

    def _paths(self) -> Iterator[bytes]:
        for number, line in enumerate(lines_of(self._path), 1):
            entry = line.strip()
            if entry and not entry.startswith(b"#"):
                yield self._checked(entry, number)

    def _rows(self) -> Iterator[bytes]:
        rows = table_rows(self._path)
        _, head = next(rows)
        at_path, at_label = path_column(head), label_column(head, self._label)
        for number, row in rows:
            if at_label is not None:
                label = row[at_label].strip().encode("utf-8", "surrogateescape")
                self._codes.append(self._table.setdefault(label, len(self._table)))
            entry = row[at_path].strip().encode("utf-8", "surrogateescape")
            yield self._checked(entry, number)

    def _checked(self, entry: bytes, number: int) -> bytes:
        entry = entry.replace(b"\\", b"/")
        if not entry or b"\0" in entry:
            raise ValueError(f"line {number} has no path")
        if os.path.isabs(entry) or (os.path.normpath(entry) + b"/").startswith(b"../"):  # noqa: PTH117
            raise InputError(
                f"{self._path}, line {number}: the path {shown_bytes(entry)} leaves the folder of "
                "the list. Put the list above its images and write the paths relative to it."
            )
        return entry

    def _check_some_exist(self) -> None:
        """Refuse a file of which no line names an existing file: it is probably another text."""
        n_first = min(len(self), _N_CHECKED)
        if not n_first:
            raise self._no_list("it names no images")
        if not any(os.path.isfile(self._absolute(index)) for index in range(n_first)):  # noqa: PTH113
            raise self._no_list(
                f"none of its first {n_first} lines names a file beside it, "
                f"such as '{self.locate(0)[:60]}'"
            )

    def _no_list(self, why: str) -> InputError:
        return InputError(
            f"{self._path} is not a list of images: {why}. Give a folder, an archive, or a text "
            "file with one path a line, relative to that file."
        )
