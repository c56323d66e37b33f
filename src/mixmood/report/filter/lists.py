"""The list of a filter as text, CSV or Parquet, written part by part into a temporary file."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from mixmood.core.errors import MissingExtraError, OptionError, OutputError
from mixmood.core.files.atomic import atomic_file
from mixmood.core.files.spreadsheet import csv_text
from mixmood.data.pools.kept_list import TEXT_HEAD
from mixmood.report.filter.list_rows import COLUMNS, ListContent


def write_list(path: Path, content: ListContent) -> None:
    """Write the list in the format of the file's suffix."""
    writer = writer_for(path)
    with atomic_file(path) as file:
        writer(file, content)


def writer_for(path: Path) -> Callable[[IO[bytes], ListContent], None]:
    """The writer for a file of this name; refuse an unknown suffix before any work is done."""
    if path.suffix.lower() not in WRITERS:
        raise OptionError(
            f"The list needs a name that ends in {', '.join(WRITERS)}; got '{path.name}'."
        )
    if path.suffix.lower() == ".parquet":
        _pyarrow()
    return WRITERS[path.suffix.lower()]


def check_names(path: Path, names: Iterable[str]) -> None:
    """Refuse names that the list cannot hold, before a long scan is made for it."""
    if path.suffix.lower() != ".txt":
        return
    for name in names:
        if "\n" in name or "\r" in name:
            raise OutputError(
                f"The name {name!r} has a line break, which a text list cannot hold. "
                "Write a .csv instead."
            )


def _write_text(file: IO[bytes], content: ListContent) -> None:
    file.write(f"{TEXT_HEAD}{content.pool_name}\n".encode("utf-8", "surrogateescape"))
    for rows in content.rows():
        file.write("".join(f"{row.path}\n" for row in rows if row.keep).encode())


def _write_csv(file: IO[bytes], content: ListContent) -> None:
    file.write(csv_text(COLUMNS, []).encode())
    for rows in content.rows():
        head_and_rows = csv_text(COLUMNS, [row.values() for row in rows])
        file.write(head_and_rows.partition("\n")[2].encode())


def _write_parquet(file: IO[bytes], content: ListContent) -> None:
    arrow, parquet = _pyarrow()
    kinds = {"index": arrow.int64(), "keep": arrow.int8()}
    floats = dict.fromkeys(("score", "confidence"), arrow.float64())
    schema = arrow.schema([(name, (kinds | floats).get(name, arrow.string())) for name in COLUMNS])
    with parquet.ParquetWriter(file, schema) as writer:
        for rows in content.rows():
            table = arrow.Table.from_pylist([asdict(row) for row in rows], schema=schema)
            writer.write_table(table)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("Writing Parquet", "hub") from None
    return pyarrow, pyarrow.parquet


WRITERS = {".csv": _write_csv, ".parquet": _write_parquet, ".txt": _write_text}
"""The writer of a list, by its suffix."""
