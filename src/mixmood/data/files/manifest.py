"""A pool that is a list of paths in a text or CSV file."""

import csv
import os
from array import array
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np

from mixmood.core.errors import InputError, UnreadableImageError, reason
from mixmood.core.files.bounded import read_image_file
from mixmood.data.files.named_files import PathSource
from mixmood.data.files.names import Names, labels_from_table, printable
from mixmood.data.pools.pool import Labels

PATH_COLUMNS = ("path", "file", "filename", "file_name", "filepath", "file_path", "image")
"""Names of the column with the paths; the first one present counts."""

LABEL_COLUMNS = ("label", "class", "class_name", "category", "target")
"""Names of the column with the classes; it may be absent."""

_LONGEST_LINE = 65_536
_LOOKED_FOR = 100


class ManifestSource(PathSource):
    """The images that a list names, in its order; paths are relative to the list.

    A .txt list has one path a line, where empty lines and lines that start with # do not count.
    A .csv or .tsv, with commas, semicolons or tabs, has a head with a column `path` and perhaps
    one `label`; see PATH_COLUMNS and LABEL_COLUMNS for their other names. A list in which some
    labels are blank counts as unlabelled. Folders may be separated by / or, as on Windows, by
    \\, whatever machine reads the list. A path that leaves the folder of the list is refused: a
    list from elsewhere must not make this machine read its own files.
    """

    def __init__(self, path: str | Path, name: str) -> None:
        """Read the list, not the images; refuse what is no list of images."""
        self.name = name
        self._path = Path(path)
        self._root = os.fsencode(self._path.resolve().parent)
        self._codes = array("i")
        self._table: dict[bytes, int] = {}
        is_table = self._path.suffix.lower() in (".csv", ".tsv")
        try:
            self._names = Names.in_order(self._rows() if is_table else self._paths())
        except (OSError, ValueError, csv.Error) as error:
            raise self._no_list(reason(error)) from error
        self._look_for_some()

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
        """The classes of the label column; None where there is none or some of it is blank."""
        if not self._table or b"" in self._table:
            return None
        return labels_from_table(np.array(self._codes, dtype=np.int32), self._table)

    def _absolute(self, index: int) -> bytes:
        return os.path.join(self._root, self._names[index])  # noqa: PTH118 - paths are bytes

    def _paths(self) -> Iterator[bytes]:
        for number, line in enumerate(_lines(self._path), 1):
            entry = line.strip()
            if entry and not entry.startswith(b"#"):
                yield self._checked(entry, number)

    def _rows(self) -> Iterator[bytes]:
        text = (line.decode("utf-8", "surrogateescape") for line in _lines(self._path))
        first = next(text, "")
        reader = csv.reader(chain([first], text), delimiter=_delimiter(first), strict=True)
        head = [word.strip().lower() for word in next(reader, [])]
        at_path = _column(head, PATH_COLUMNS)
        at_label = _column(head, LABEL_COLUMNS)
        if at_path is None:
            raise ValueError(
                f"its first line must name a column {' or '.join(PATH_COLUMNS)}, got "
                f"'{', '.join(head)[:60]}'"
            )
        for row in reader:
            if not row:
                continue
            if len(row) != len(head):
                raise ValueError(
                    f"line {reader.line_num} has {len(row)} fields, its head {len(head)}"
                )
            if at_label is not None:
                label = row[at_label].strip().encode("utf-8", "surrogateescape")
                self._codes.append(self._table.setdefault(label, len(self._table)))
            entry = row[at_path].strip().encode("utf-8", "surrogateescape")
            yield self._checked(entry, reader.line_num)

    def _checked(self, entry: bytes, number: int) -> bytes:
        entry = entry.replace(b"\\", b"/")
        if not entry or b"\0" in entry:
            raise ValueError(f"line {number} holds no path")
        if os.path.isabs(entry) or (os.path.normpath(entry) + b"/").startswith(b"../"):  # noqa: PTH117
            raise InputError(
                f"{self._path}, line {number}: the path {printable(entry)} leaves the folder of "
                "the list. Put the list above its images and write the paths relative to it."
            )
        return entry

    def _look_for_some(self) -> None:
        """A text without any image beside it is some other text: say so before work is done."""
        n_first = min(len(self), _LOOKED_FOR)
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
            "file with one path of an image a line, relative to the file."
        )


def _delimiter(head: str) -> str:
    """What parts the columns of a table, by its first line: a tab, a semicolon or a comma.

    Where a comma stands in numbers, spreadsheets part columns by semicolons.
    """
    return max(",;\t", key=head.count)


def _column(head: list[str], names: tuple[str, ...]) -> int | None:
    return next((head.index(name) for name in names if name in head), None)


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(3 if file.read(3) == b"\xef\xbb\xbf" else 0)
        while line := file.readline(_LONGEST_LINE):
            if len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
                raise ValueError(f"a line is longer than {_LONGEST_LINE} bytes")
            yield line
