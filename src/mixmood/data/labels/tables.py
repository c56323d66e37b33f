"""Tables of paths and classes in CSV files, with commas, semicolons or tabs."""

import csv
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from mixmood.core.suggest import unknown_name

PATH_COLUMNS = ("path", "file", "filename", "file_name", "filepath", "file_path", "image")
"""Names of the column with the paths; the first of them that a table has is used."""

LABEL_COLUMNS = ("label", "labels", "class", "class_name", "category", "target")
"""Names of the column with the classes; the first of them that a table has is used."""

LONGEST_LINE = 65_536


def table_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The header, in lower case, and the rows, each with its line number.

    ValueError if a row has another number of fields than the header.
    """
    text = (line.decode("utf-8", "surrogateescape") for line in lines_of(path))
    first = next(text, "")
    if "\r" in first.rstrip("\r\n"):
        raise ValueError("its lines end as on old Macintoshes: save it as CSV in UTF-8")
    reader = csv.reader(chain([first], text), delimiter=_delimiter(first), strict=True)
    head = [word.strip().lower() for word in next(reader, [])]
    yield 1, head
    for row in reader:
        if row and len(row) != len(head):
            raise ValueError(
                f"line {reader.line_num} has {len(row)} fields, and the header has {len(head)}"
            )
        if row:
            yield reader.line_num, row


def path_column(head: Sequence[str], names: Sequence[str] = PATH_COLUMNS) -> int:
    """The index of the column with the paths; ValueError if there is none."""
    for name in names:
        if name in head:
            return head.index(name)
    raise ValueError(
        f"its first line must name a column {' or '.join(names)}, got '{', '.join(head)[:60]}'"
    )


def label_column(head: Sequence[str], wanted: str | None) -> int | None:
    """The index of the column with the classes: the one wanted, else one with a usual name."""
    if wanted is not None:
        if wanted.lower() not in head:
            raise unknown_name("label column", wanted, head)
        return head.index(wanted.lower())
    return next((head.index(name) for name in LABEL_COLUMNS if name in head), None)


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a text file; ValueError if it is UTF-16 or a line is too long for text."""
    with path.open("rb") as file:
        start = file.read(3)
        if start.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise ValueError("it is text in UTF-16: save it in UTF-8")
        file.seek(3 if start == b"\xef\xbb\xbf" else 0)
        while line := file.readline(LONGEST_LINE):
            if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                raise ValueError(f"a line is longer than {LONGEST_LINE} bytes")
            yield line


def _delimiter(head: str) -> str:
    """The most frequent of comma, semicolon and tab in the first line.

    Spreadsheets separate columns by semicolons in countries with a decimal comma.
    """
    return max(",;\t", key=head.count)
