"""Which class each image has, from folders, tables or values; and which images are one group."""

import csv
import os
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import InputError, OptionError, ShapeError, errors_as
from mixmood.core.text import counted, either_form, unknown_name
from mixmood.data.images.names import shown_bytes
from mixmood.data.images.pool import Labels, Pool

MOST_CLASSES = 65_536
LABELS_FILE = "mixmood-labels.csv"  # the page to label on saves it; `--labels` reads it
LABELS_COLUMNS = ("pool", "path", "index", "label")
"""The name of the pool in results, the image as `Source.locate` names it, its index, its class.
Texts that a spreadsheet would run as a formula have a leading quote."""
NONE, KEEP = "(none)", "(keep)"
"""In place of a class: the image is of none of the classes; it is of one, nobody said which."""
SPLIT = re.compile(rb"(train|training|val|valid|validation|dev|test|testing|images|data)(20\d\d)?")
"""Names of folders that are splits of a set, not classes (YOLO and COCO have them)."""


def labels_from_folders(names: Sequence[bytes]) -> Labels | None:
    """The classes from the folders of a pool; None if the folders are not classes.

    The class is the folder on the first level with several folders, as in `crawl/cat/new/1.png`
    if every path starts with `crawl/`; or on the level below, if the folders of that level are
    splits, as in `train/cat/1.png`. Every image must be in such a folder, of at least two.
    """
    folders = list(_class_folders(names))
    are_classes = all(folders) and 1 < len(set(folders)) <= MOST_CLASSES
    return labels_from_words(folders) if are_classes else None


def why_no_class_folders(names: Sequence[bytes]) -> str:
    """A sentence about a single folder, or about images beside class folders; else empty.

    >>> why_no_class_folders([b"cat/1.png", b"dog/2.png", b"3.png"])
    '1 of 3 images is in no class folder, such as 3.png: the set counts as unlabelled.'
    >>> why_no_class_folders([b"cat/1.png", b"cat/2.png"])
    "All images are in one folder, 'cat': as a class it is the only one, and two are needed."
    """
    folders = list(_class_folders(names))
    parents = {name.rpartition(b"/")[0] for name in names}
    if len(parents) == 1 and (folder := parents.pop()):
        return (
            f"All images are in one folder, '{shown_bytes(folder)}': as a class it is the only "
            "one, and two are needed."
        )
    if not (n_outside := folders.count(b"")) or len(set(folders)) < 3:
        return ""
    return (
        f"{n_outside:,} of {len(names):,} images {either_form(n_outside, 'is', 'are')} in no class "
        f"folder, such as {shown_bytes(names[folders.index(b'')])}: the set counts as unlabelled."
    )


def labels_from_words(words: Sequence[bytes]) -> Labels:
    """Labels with names in alphabetical order, from the class of each image."""
    place = {name: code for code, name in enumerate(sorted(set(words)))}
    codes = np.array([place[word] for word in words], np.int32)
    return Labels(codes, tuple(map(shown_bytes, place)))


def _class_folders(names: Sequence[bytes]) -> Iterator[bytes]:
    """The folder of each image that may be its class; empty for an image in no such folder."""
    # Up to the last slash: `commonpath` would change names such as a//b.
    skip = os.fsencode(os.path.commonprefix(names)).rfind(b"/") + 1  # noqa: RUF071
    is_split = all(SPLIT.fullmatch(name[skip:].partition(b"/")[0].lower()) for name in names)
    for name in names:
        start = name.find(b"/", skip) + 1 if is_split else skip
        yield name[start : max(start, name.find(b"/", start))]


PATH_COLUMNS = ("path", "file", "filename", "file_name", "filepath", "file_path", "image")
LABEL_COLUMNS = ("label", "labels", "class", "class_name", "category", "target")
"""Names of the columns with paths and with classes; of each, the first that a table has is used."""

LONGEST_LINE = 65_536


def read_table(
    path: Path, longest: int = LONGEST_LINE
) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """The header, in lower case; and the rows, each with its line number."""
    text = (line.decode("utf-8", "surrogateescape") for line in lines_of(path, longest))
    first = next(text, "")
    if "\r" in first.rstrip("\r\n"):
        raise ValueError("its lines end as on old Macintoshes: save it as CSV in UTF-8")
    # Spreadsheets separate columns by semicolons in countries with a decimal comma.
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(chain([first], text), delimiter=delimiter, strict=True)
    head = [word.strip().lower() for word in next(reader, [])]

    def rows() -> Iterator[tuple[int, list[str]]]:
        for row in filter(None, reader):
            if len(row) != len(head):
                raise ValueError(
                    f"line {reader.line_num} has {len(row)} fields, and the header has {len(head)}"
                )
            yield reader.line_num, row

    return head, rows()


def path_column(head: Sequence[str], names: Sequence[str] = PATH_COLUMNS) -> int:
    """The index of the column with the paths; ValueError if there is none."""
    if (place := next((head.index(name) for name in names if name in head), None)) is not None:
        return place
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


def why_no_label_column(path: Path) -> str:
    """A sentence about a table none of whose columns has the usual name of classes; else empty."""
    head, _ = read_table(path)
    if label_column(head, None) is not None:
        return ""
    return (
        f"{path.name} has the columns {', '.join(head)[:200]}, and none of them is called "
        f"{', '.join(LABEL_COLUMNS[:-1])} or {LABEL_COLUMNS[-1]}: rename one, or name it with "
        "?label=COLUMN behind the path of the set."
    )


def lines_of(path: Path, longest: int = LONGEST_LINE) -> Iterator[bytes]:
    """The lines of a text file; ValueError if it is UTF-16 or a line is too long for text."""
    with path.open("rb") as file:
        start = file.read(3)
        if start.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise ValueError("it is text in UTF-16: save it in UTF-8")
        file.seek(3 if start == b"\xef\xbb\xbf" else 0)
        while line := file.readline(longest):
            if len(line) == longest and not line.endswith(b"\n"):
                raise ValueError(f"a line is longer than {longest} bytes")
            yield line


LABEL_FILES = ("labels.csv", "labels.tsv", "metadata.csv")  # the last is that of Hugging Face
NAME_COLUMNS = (*PATH_COLUMNS, "id", "image_id", "name")
AMBIGUOUS = -2  # in place of an index: several images have this name


def first_file(folder: Path, names: Sequence[str] = LABEL_FILES) -> Path | None:
    """The first of these files at the top of a folder; None if it has none of them."""
    return next((folder / name for name in names if (folder / name).is_file()), None)


def labels_from_file(
    path: Path, names: Sequence[bytes], column: str | None
) -> tuple[Labels | None, str]:
    """The classes of all images; or None, and a sentence about an image without one class."""
    several, first = set[int](), ""
    with errors_as(InputError, f"Cannot read the labels in {path}"):
        head, rows = read_table(path)
        if (at_label := label_column(head, column)) is None:
            # A table without classes, such as one of captions, is not a table of labels.
            return None, ""
        at_name, places, words = path_column(head, NAME_COLUMNS), _places(names), [b""] * len(names)
        for number, row in rows:
            first = first or row[at_name]
            place = places.get(_bytes(row[at_name]).removeprefix(b"./"), -1)
            if place == AMBIGUOUS:
                raise ValueError(
                    f"line {number} names '{row[at_name][:60]}', and several images have this "
                    "name: write the path of one image"
                )
            if place >= 0 and (label := _bytes(row[at_label])):
                if words[place] not in (b"", label):
                    several.add(place)
                words[place] = label
    if not any(words):
        raise InputError(
            f"{path} has labels, but none of its rows names an image of the folder; its first row "
            f"names '{first[:60]}'. Write paths relative to the folder."
        )
    without = [index for index, word in enumerate(words) if not word]
    for bad, what in ((sorted(several), "gives several classes to"), (without, "has no label for")):
        if bad:
            return None, (
                f"{path.name} {what} {len(bad)} of {len(names)} images, such as "
                f"{shown_bytes(names[bad[0]])}: the set counts as unlabelled."
            )
    return labels_from_words(words), ""


def _bytes(text: str) -> bytes:
    return text.strip().replace("\\", "/").encode("utf-8", "surrogateescape")


def _places(names: Sequence[bytes]) -> dict[bytes, int]:
    """The index of an image by its path, its file name, and its file name without suffix."""
    files = [name.rpartition(b"/")[2] for name in names]
    # A DICOM file may have no suffix.
    stems = [file.rpartition(b".")[0] or file for file in files]
    places: dict[bytes, int] = {}
    for known in (stems, files, names):
        found: dict[bytes, int] = {}
        for index, name in enumerate(known):
            found[name] = AMBIGUOUS if name in found else index
        places |= found
    return places


def labels_from_values(
    values: NDArray[Any], name: str, class_names: tuple[str, ...] | None = None
) -> Labels:
    """Labels from one integer or text per image; `class_names` are the names of the integers."""
    # In a column of pandas texts are Python objects.
    are_objects = values.dtype.hasobject and all(isinstance(value, str) for value in values.flat)
    is_text = are_objects or values.dtype.kind == "U"
    if values.ndim != 1 or not (is_text or values.dtype.kind in "iub"):
        raise ShapeError(
            f"{name}: labels must be a 1-D array of integers or texts, "
            f"got {values.dtype} of shape {values.shape}."
        )
    if class_names is None:
        found, codes = np.unique(values, return_inverse=True)
        return Labels(codes.astype(np.int32), tuple(map(str, found.tolist())))
    if is_text or (len(values) and not 0 <= values.min() <= values.max() < len(class_names)):
        got = "texts" if is_text else f"{values.min()} to {values.max()}"
        raise InputError(
            f"{name}: labels must be integers from 0 to {len(class_names) - 1}, because there are "
            f"{len(class_names)} class names; got {got}."
        )
    if len(set(class_names)) < len(class_names):
        raise InputError(f"{name}: two classes have the same name. Give every class its own.")
    return Labels(values.astype(np.int32), class_names)


WAYS = (
    "a sub-folder for each class, two or more (cat/1.jpg, dog/2.jpg); a table labels.csv with the "
    "columns path and label in the folder of the images; a column label of a CSV or Parquet file "
    "(another column: FILE.csv?label=COLUMN); an array labels in an .npz file, or in Python a pair "
    "(X, y); a Hugging Face data set with a ClassLabel; or COCO or YOLO annotations with one class "
    "for each image"
)


def needed_labels(pool: Pool, role: str = "labelled set") -> Labels:
    """The classes of a pool's images; without any, an InputError names the ways to give them."""
    if pool.labels is None:
        why = pool.why_unlabelled
        because = " ".join(filter(None, [*getattr(pool, "notes", ()), why, "Give them"]))
        raise InputError(
            f"The {role} {pool.name} {'does not have two' if why else 'has no'} classes. "
            f"{because} in one of these ways: {WAYS}."
        )
    return pool.labels


def minus_one_note(names: tuple[str, ...]) -> str:
    """A sentence for classes that seem to mark images without one by -1; not for just -1 and 1.

    >>> minus_one_note(("-1", "1"))
    ''
    """
    if "-1" not in names or len(names) < 3:
        return ""
    return "The label -1 is a class like the others. Put images without a class into the pool."


def group_names(pool: Pool, column_or_pattern: str) -> list[str]:
    """The group of every image of a pool, from a column of its table or from the paths.

    A regular expression is searched for in each path. Its first capture group is the name of the
    image's group, as in `patient(\\d+)`; without one, the whole match is.
    """
    if (column := pool.column(column_or_pattern)) is not None:
        if n_blank := sum(name in ("", "None", "nan", "<NA>") for name in column):
            raise InputError(
                f"The column '{column_or_pattern}' of {pool.name} is blank for "
                f"{counted(n_blank, 'image')}, which would be one group. Fill it in; where nobody "
                "knows the group, with a name of its own."
            )
        return column
    try:
        pattern = re.compile(column_or_pattern)
    except re.error as error:
        raise OptionError(
            f"groups must be a column of {pool.name} or a regular expression for its paths; got "
            f"'{column_or_pattern}' ({error})."
        ) from error
    names = []
    for place in map(pool.locate, range(len(pool))):
        found = pattern.search(place)
        # A capture group that took no part in the match is None.
        name = None if found is None else found.group(1 if pattern.groups else 0)
        if name is None:
            raise InputError(
                f"groups '{column_or_pattern}' is not a column of {pool.name} and is not found in "
                f"{place}. Give a column of its table, or a pattern that every path has, such as "
                "patient(\\d+)."
            )
        names.append(str(name))
    return names


def groups_of(pool: Pool, column_or_pattern: str | None) -> NDArray[np.int64] | None:
    """The number of each image's group, shape (n,); None without groups."""
    return None if column_or_pattern is None else group_codes(group_names(pool, column_or_pattern))


def group_codes(names: list[str]) -> NDArray[np.int64]:
    """A number for each group.

    >>> group_codes(["b", "a", "b"]).tolist()
    [1, 0, 1]
    """
    return np.asarray(np.unique(names, return_inverse=True)[1], np.int64)
