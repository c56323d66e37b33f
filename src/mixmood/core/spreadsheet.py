"""Tables as CSV, safe to open in a spreadsheet."""

import csv
import io
from collections.abc import Iterable, Sequence


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as CSV; a text that a spreadsheet would run as a formula gets a leading quote.

    >>> csv_text(["name"], [["=1+1"], ["-5"], [-5]])
    "name\\n'=1+1\\n'-5\\n-5\\n"
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerows([_inert(value) for value in row] for row in (columns, *rows))
    return buffer.getvalue()


def _inert(value: object) -> object:
    is_formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if is_formula else value
