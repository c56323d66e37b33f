"""Tables of paths and classes in CSV files, with commas, semicolons or tabs."""

import csv
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from mixmood.core.suggest import unknown_name

PATH_COLUMNS = ("path", "file", "filename", "file_name", "filepath", "file_path", "image")
"""Names of the column with the paths; the first one present counts."""

LABEL_COLUMNS = ("label", "labels", "class", "class_name", "category", "target")
"""Names of the column with the classes; the first one present counts."""

LONGEST_LINE = 65_536


def table_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The head, in small letters, and the rows, each with its line; ValueError if one is uneven."""
    text = (line.decode("utf-8", "surrogateescape") for line in lines_of(path))
    first = next(text, "")
    reader = csv.reader(chain([first], text), delimiter=_delimiter(first), strict=True)
    head = [word.strip().lower() for word in next(reader, [])]
    yield 1, head
    for row in reader:
        if row and len(row) != len(head):
            raise ValueError(f"line {reader.line_num} has {len(row)} fields, its head {len(head)}")
        if row:
            yield reader.line_num, row


def path_column(head: Sequence[str], names: Sequence[str] = PATH_COLUMNS) -> int:
    """Which column holds the paths; ValueError if none does."""
    for name in names:
        if name in head:
            return head.index(name)
    raise ValueError(
        f"its first line must name a column {' or '.join(names)}, got '{', '.join(head)[:60]}'"
    )


def label_column(head: Sequence[str], wanted: str | None) -> int | None:
    """Which column holds the classes: the one wanted, or one of a usual name, or None."""
    if wanted is not None:
        if wanted.lower() not in head:
            raise unknown_name("label column", wanted, head)
        return head.index(wanted.lower())
    return next((head.index(name) for name in LABEL_COLUMNS if name in head), None)


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a text file; ValueError if one is absurdly long."""
    with path.open("rb") as file:
        file.seek(3 if file.read(3) == b"\xef\xbb\xbf" else 0)
        while line := file.readline(LONGEST_LINE):
            if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                raise ValueError(f"a line is longer than {LONGEST_LINE} bytes")
            yield line


def _delimiter(head: str) -> str:
    """The character between columns, by the first line: a tab, a semicolon or a comma.

    In countries that write 0,5 for a half, spreadsheets put semicolons between columns.
    """
    return max(",;\t", key=head.count)
