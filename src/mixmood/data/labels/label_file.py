"""Classes from a table in the folder of the images, such as labels.csv."""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from mixmood.core.errors import InputError, reason
from mixmood.data.files.names import Names, shown_bytes
from mixmood.data.labels.folder_names import labels_from_table
from mixmood.data.labels.tables import PATH_COLUMNS, label_column, path_column, table_rows
from mixmood.data.pools.pool import Labels

FILES = ("labels.csv", "labels.tsv", "metadata.csv")
"""Names of the table, at the top of the folder; Hugging Face calls it metadata.csv."""
NAME_COLUMNS = (*PATH_COLUMNS, "id", "image_id", "name")
AMBIGUOUS = -2
"""In place of an index: several images have this name."""
SEVERAL = -3
"""In place of a class: rows give the image different classes."""


def label_file_in(folder: Path) -> Path | None:
    """The table of classes at the top of a folder, if there is one."""
    return next((folder / name for name in FILES if (folder / name).is_file()), None)


def labels_from_file(path: Path, names: Names, column: str | None) -> tuple[Labels | None, str]:
    """The classes of all images; or None, and a sentence about an image without one class.

    A row names its image by the path below the folder, by the name of the file, or by that name
    without its suffix. InputError if no row names an image, or the table cannot be read.

    Args:
        path: The table.
        names: The images of the folder.
        column: The column with the classes; by default one with a usual name.
    """
    try:
        codes, table, first = _codes(path, names, column)
    except (OSError, ValueError, csv.Error) as error:
        raise InputError(f"Cannot read the labels in {path}: {reason(error)}.") from error
    if codes is None:
        return None, ""
    n_missing = int((codes < 0).sum())
    if n_missing == len(names):
        raise InputError(
            f"{path} has labels, but none of its rows names an image of the folder; its first row "
            f"names '{first[:60]}'. Write paths relative to the folder."
        )
    if n_several := int((codes == SEVERAL).sum()):
        where = shown_bytes(names[int(np.argmax(codes == SEVERAL))])
        return None, (
            f"{path.name} gives several classes to {n_several} of {len(names)} images, such as "
            f"{where}: the set counts as unlabelled."
        )
    if n_missing:
        where = shown_bytes(names[int(np.argmax(codes < 0))])
        return None, (
            f"{path.name} has no label for {n_missing} of {len(names)} images, such as {where}: "
            "the set counts as unlabelled."
        )
    return labels_from_table(codes, table), ""


def _codes(
    path: Path, names: Names, column: str | None
) -> tuple["np.ndarray[tuple[int], np.dtype[np.int32]] | None", dict[bytes, int], str]:
    rows = table_rows(path)
    _, head = next(rows)
    at_label = label_column(head, column)
    if at_label is None:
        # A table without classes, such as one of captions, is not a table of labels.
        return None, {}, ""
    at_name, first = path_column(head, NAME_COLUMNS), ""
    places = _places(names)
    codes = np.full(len(names), -1, np.int32)
    table: dict[bytes, int] = {}
    for number, row in rows:
        first = first or row[at_name]
        place = places.get(_bytes(row[at_name]).removeprefix(b"./"), -1)
        if place == AMBIGUOUS:
            raise ValueError(
                f"line {number} names '{row[at_name][:60]}', and several images have this name: "
                "write the path of one image"
            )
        label = _bytes(row[at_label])
        if place >= 0 and label:
            code = table.setdefault(label, len(table))
            codes[place] = code if codes[place] in (-1, code) else SEVERAL
    return codes, table, first


def _bytes(text: str) -> bytes:
    return text.strip().replace("\\", "/").encode("utf-8", "surrogateescape")


def _places(names: Names) -> dict[bytes, int]:
    """The index of an image by its path, its file name, and its file name without suffix."""
    places: dict[bytes, int] = {}
    for short in _shortenings(names):
        found: dict[bytes, int] = {}
        for index, name in enumerate(short):
            found[name] = AMBIGUOUS if name in found else index
        places = {**found, **places}
    return places


def _shortenings(names: Names) -> Iterator[Iterable[bytes]]:
    yield names
    yield (name.rpartition(b"/")[2] for name in names)
    # A DICOM file may have no suffix.
    files = (name.rpartition(b"/")[2] for name in names)
    yield (file.rpartition(b".")[0] or file for file in files)
