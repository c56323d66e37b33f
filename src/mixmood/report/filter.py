"""A filtered pool for its readers: list of images, lines of text and page."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import OptionError, OutputError, needing
from mixmood.core.files import atomic_file, csv_text
from mixmood.core.records.filtering import Filtering, FilterMaterial, GainInterval
from mixmood.core.text import in_percent
from mixmood.data.readers.kept import TEXT_HEAD
from mixmood.report.charts import LABELLED, Axis, bars, mark
from mixmood.report.page import render
from mixmood.report.text import count, number, printable, seen_at
from mixmood.selection.filter import REASONS, FilterJob


def kept_sentence(record: Filtering) -> str:
    """How much of the pool is kept."""
    part = f" ({in_percent(record.n_kept / record.n_images)})" if record.n_images else ""
    kept, of_all = count(record.n_kept), count(record.n_images)
    return f"{kept} of {of_all} images of {printable(record.pool)} kept{part}."


def filter_lines(record: Filtering) -> list[str]:
    """How many images were kept, why the others were not, and the expected effect."""
    share = record.useful_share
    lines = [
        kept_sentence(record) + seen_at(record.view),
        *([record.answer] if record.answer else []),
        f"Useful share: {share}." + (f" {share.note}" if share.note else ""),
    ]
    if record.threshold is not None and record.typical is not None:
        lines.append(
            f"A kept image scores at least {number(record.threshold)}, as "
            f"{in_percent(record.typical)} of your labelled images do."
        )
    if record.reasons:
        dropped = ", ".join(f"{count(n)} {reason}" for reason, n in record.reasons.items())
        lines.append(f"Dropped: {dropped}.")
    if record.probe is not None:
        lines.append(
            f"Expected gain of the head {record.probe.algorithm}: "
            f"{_gain(record.probe.whole)} whole pool, {_gain(record.probe.kept)} kept part."
        )
    if record.classes is not None and record.n_kept:
        shown = ", ".join(f"{printable(name)} {count(n)}" for name, n in record.classes.items())
        lines.append(f"Classes of the kept images: {shown}.")
    lines += [f"Note: {warning}" for warning in record.warnings]
    lines += [printable(f"Next: {record.next}")] if record.next else []
    return lines


def _gain(gain: GainInterval) -> str:
    low, high = gain.interval
    return f"{gain.gain:+.1f} points ({low:+.1f} to {high:+.1f})"


COLUMNS = {
    "path": "string",
    "pool": "string",
    "index": "int64",
    "score": "float64",
    "keep": "int8",
    "reason": "string",
    "nearest": "string",
    "predicted_class": "string",
    "confidence": "float64",
}
"""The columns of CSV and Parquet, and their types in the latter."""
ListRow = dict[str, Any]
Batches = Iterable[list[ListRow]]
Writer = Callable[[IO[bytes], str, Batches], None]


def list_rows(
    job: FilterJob, reasons: NDArray[np.uint8], pool_name: str
) -> Iterator[list[ListRow]]:
    """The rows of a filtered pool, part by part; `pool_name` is its name in the list."""
    names = ("scores", "nearest", "classes", "confidence", "problems")
    labelled, classes = job.scorer.labelled_names, job.scorer.class_names
    for start, part in job.parts:
        # As lists: a single value of an array takes longer to read than all of a list.
        columns = [part[name].tolist() for name in names]
        codes = reasons[start : start + len(columns[0])].tolist()
        values = enumerate(zip(codes, *columns, strict=True), start)
        yield [
            {
                "path": job.pool.locate(index),
                "pool": pool_name,
                "index": index,
                "score": None if problem else round(score, 6),
                "keep": int(reason == 0),
                "reason": REASONS[reason],
                "nearest": labelled[nearest] if 0 <= nearest < len(labelled) else "",
                "predicted_class": classes[code] if code >= 0 else "",
                "confidence": round(confidence, 4) if code >= 0 else None,
            }
            for index, (reason, score, nearest, code, confidence, problem) in values
        ]


def write_list(path: Path, pool_name: str, batches: Batches) -> None:
    """Write rows, some at a time, as a list of the pool, in the format of the file's suffix."""
    writer = writer_for(path)
    with atomic_file(path) as file:
        writer(file, pool_name, batches)


def writer_for(path: Path) -> Writer:
    """The writer for a file of this name; refuse an unknown suffix before any work is done."""
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise OptionError(
            f"The list needs a name that ends in {', '.join(WRITERS)}; got '{path.name}'."
        )
    if writer is _write_parquet:
        _pyarrow()
    return writer


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


def _write_text(file: IO[bytes], pool_name: str, batches: Batches) -> None:
    file.write(f"{TEXT_HEAD}{pool_name}\n".encode("utf-8", "surrogateescape"))
    for rows in batches:
        file.write("".join(f"{row['path']}\n" for row in rows if row["keep"]).encode())


def _write_csv(file: IO[bytes], pool_name: str, batches: Batches) -> None:
    file.write(csv_text(list(COLUMNS), []).encode())
    for rows in batches:
        head_and_rows = csv_text(list(COLUMNS), (list(row.values()) for row in rows))
        file.write(head_and_rows.partition("\n")[2].encode())


def _write_parquet(file: IO[bytes], pool_name: str, batches: Batches) -> None:
    arrow, parquet = _pyarrow()
    schema = arrow.schema([(name, getattr(arrow, kind)()) for name, kind in COLUMNS.items()])
    with parquet.ParquetWriter(file, schema) as writer:
        for rows in batches:
            writer.write_table(arrow.Table.from_pylist(rows, schema=schema))


def _pyarrow() -> tuple[Any, Any]:
    with needing("Writing Parquet", "hub"):
        import pyarrow
        import pyarrow.parquet
    return pyarrow, pyarrow.parquet


WRITERS = {".csv": _write_csv, ".parquet": _write_parquet, ".txt": _write_text}
"""The writer of a list, by its suffix."""


def filter_page(record: Filtering, material: FilterMaterial, command: str | None = None) -> str:
    """The page of a filtered pool, as HTML text."""
    scores = material.histogram
    return render(
        "filter/filter.html",
        record.to_json(),
        {
            "record": record,
            "verdict": kept_sentence(record),
            "axis": Axis(scores.low, scores.high),
            "bar_width": round(100 / len(scores.pool), 2),
            # Each half is as high as its fullest bin, since a pool has many more images.
            "labelled_bars": bars(scores.labelled, max(scores.labelled)),
            "pool_bars": bars(scores.pool, max(scores.pool)),
            "kept_bars": bars(scores.kept, max(scores.pool)),
            "galleries": material.galleries,
            "n_classes_left_out": material.n_classes_left_out,
            "labelled_mark": LABELLED,
            "pool_mark": mark(0),
            "warnings": [text for text in (record.useful_share.note, *record.warnings) if text],
            "command": command,
        },
    )
