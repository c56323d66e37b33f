"""Tables as CSV, safe to open in a spreadsheet."""

import csv
from collections.abc import Iterable, Sequence
from types import SimpleNamespace


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as CSV; a text that a spreadsheet would run as a formula gets a leading quote.

    >>> csv_text(["name"], [["=1+1"], ["-5"], [-5]])
    "name\\n'=1+1\\n'-5\\n-5\\n"
    """
    lines: list[str] = []
    # `csv` quotes only the characters of its own line ending. With "\n" alone, a "\r" in a name
    # would begin a new row, which could begin with a formula.
    writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator="\r\n")
    writer.writerows([inert(value) for value in row] for row in (columns, *rows))
    return "".join(line.removesuffix("\r\n") + "\n" for line in lines)


def inert(value: object) -> object:
    """The value, with a leading quote where a spreadsheet would run it as a formula."""
    is_formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if is_formula else value
