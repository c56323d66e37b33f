"""Pools of files on this machine: all images below a folder, or those that a list file names."""

import csv
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from mixmood.core.errors import InputError, UnreadableImageError, reason
from mixmood.core.files import read_image_file
from mixmood.core.text import counted, either_form
from mixmood.data.images.detection import labels_from_coco, labels_from_yolo
from mixmood.data.images.dicom import DICOM_START, is_dicom
from mixmood.data.images.labels import (
    LABEL_FILES,
    first_file,
    label_column,
    labels_from_file,
    labels_from_folders,
    labels_from_words,
    lines_of,
    path_column,
    read_table,
    why_no_class_folders,
    why_no_label_column,
)
from mixmood.data.images.names import (
    by_length,
    count_passed_over,
    is_foreign_folder,
    is_image_name,
    may_be_dicom,
    names_digest,
    passed_over_notes,
    shown_bytes,
)
from mixmood.data.images.pool import ImageSource, Labels


class PathSource(ImageSource):
    """A pool whose images have paths, sorted by name: no result depends on the order of a listing.

    Only a list of paths keeps its own order. Subclasses list and read the images.
    """

    _names: list[bytes]

    def __len__(self) -> int:
        """How many images were listed."""
        return len(self._names)

    def locate(self, index: int) -> str:
        """The path inside the pool."""
        return shown_bytes(self._names[index])

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the paths; no image is read."""
        return names_digest(self._names)

    @cached_property
    def labels(self) -> Labels | None:
        """The classes from the names of folders; see `labels_from_folders`."""
        return labels_from_folders(self._names)

    @cached_property
    def why_unlabelled(self) -> str:
        """A sentence about folders that are no classes; empty without folders."""
        return why_no_class_folders(self._names) if self.labels is None else ""


class FileSource(PathSource):
    """A pool whose images are files of this machine, named from one folder."""

    _root: bytes

    def file_path(self, index: int) -> bytes | None:
        """The path of the file; None for a link that leaves the folder of a list."""
        return self._absolute(index)

    def _absolute(self, index: int) -> bytes:
        return os.path.join(self._root, self._names[index])  # noqa: PTH118 - paths are bytes

    def fetch(self, index: int) -> bytes:
        """The bytes of the file."""
        path, where = self.file_path(index), self.locate(index)
        if path is None:
            raise UnreadableImageError(f"{where}: a link that leaves the folder of the list.")
        return read_image_file(path, where)


class FolderSource(FileSource):
    """All image files below a folder; opening lists the names and reads no images.

    Files without a suffix may be DICOM: their first bytes are read. Hidden files, files of
    operating systems, sockets and the like are left out. A symbolic link to a file counts if its
    target is inside the pool. Links to folders are not followed: no search is endless.
    """

    def __init__(self, path: str | Path, name: str, label: str | None = None) -> None:
        """List the images below `path`; refuse a folder that has none or cannot be listed."""
        self.name, self._label = name, label
        self._root = os.fsencode(Path(path).resolve())
        walk = _Walk(self._root)
        self._names = sorted(walk, key=by_length)
        self.notes, n_links = passed_over_notes(walk.passed_over), walk.n_leaving
        if not self._names:
            links = f", including {counted(n_links, 'link')} to files elsewhere" if n_links else ""
            raise InputError(
                f"No images in the folder {path}: found {walk.n_others} files below it{links}. "
                f"{' '.join((*self.notes, ''))}Give a folder with files like .png or .jpg, in "
                "sub-folders or not."
            )
        if n_links:
            self.notes += (
                f"{counted(n_links, 'link')} to files or folders elsewhere "
                f"{either_form(n_links, 'was', 'were')} not followed: copy the images into the "
                "folder, or make hard links.",
            )

    @cached_property
    def labels(self) -> Labels | None:
        """The classes from labels.csv, from COCO or YOLO annotations, or from folder names."""
        folder, names = Path(os.fsdecode(self._root)), self._names
        if (table := first_file(folder)) is not None:
            labels, missing = labels_from_file(table, names, self._label)
            self.notes += (missing,) if missing else ()
            if labels is not None or missing:
                return labels
        if self._label is not None:
            raise InputError(
                f"{folder} has no table of labels with a column '{self._label}'. Put one into the "
                f"folder, called {' or '.join(LABEL_FILES)}."
            )
        return labels_from_coco(folder, names) or labels_from_yolo(folder, names) or super().labels

    @cached_property
    def why_unlabelled(self) -> str:
        """A sentence about folders that are no classes, or a table without a column of classes."""
        table = first_file(Path(os.fsdecode(self._root)))
        if self.labels is not None or table is None:
            return super().why_unlabelled
        # Of a table with such a column, a note says what is wrong.
        return why_no_label_column(table)


def is_read_by_a_folder(file: Path, folder: Path) -> bool:
    """Whether an image below a folder, or its labels.csv, exists; both paths are resolved."""
    is_own = is_image_name(os.fsencode(file.name)) and file.is_relative_to(folder)
    is_table = file.name in LABEL_FILES and file.parent == folder
    return (is_own or is_table) and file.is_file()


class _Walk:
    """Yields the relative path of every image below a folder, and counts the other files."""

    def __init__(self, root: bytes) -> None:
        self._root, self.passed_over = root, Counter[str]()
        self.n_others = self.n_leaving = 0

    def __iter__(self) -> Iterator[bytes]:
        pending = [b""]
        while pending:
            prefix = pending.pop()
            try:
                with os.scandir(self._root + b"/" + prefix) as entries:
                    yield from self._images(entries, prefix, pending)
            except OSError as error:
                if prefix and isinstance(error, FileNotFoundError):
                    continue  # The folder was deleted in the meantime.
                where = os.fsdecode(self._root + b"/" + prefix)
                raise InputError(
                    f"Cannot list the folder {where}: {reason(error)}. "
                    "Make it readable, or leave it out of the pool."
                ) from error

    def _images(
        self, entries: Iterator[os.DirEntry[bytes]], prefix: bytes, pending: list[bytes]
    ) -> Iterator[bytes]:
        for entry in entries:
            name = entry.name
            # The listing has the kind of every entry: no system call for each file is needed.
            if is_image_name(name) and entry.is_file(follow_symlinks=False):
                yield prefix + name
            elif entry.is_dir(follow_symlinks=False):
                if not is_foreign_folder(name):
                    pending.append(prefix + name + b"/")
            elif may_be_dicom(name) and _is_dicom_file(entry):
                yield prefix + name
            else:
                self.n_others += 1
                if self._is_link_elsewhere(entry):
                    self.n_leaving += 1
                elif not is_image_name(name):
                    count_passed_over(self.passed_over, name)
                elif entry.is_symlink() and entry.is_file():
                    yield prefix + name

    def _is_link_elsewhere(self, entry: os.DirEntry[bytes]) -> bool:
        """Whether an image or a folder is a link to one that is not in the pool."""
        is_folder = entry.is_dir() and not is_foreign_folder(entry.name)
        is_kind = entry.is_file() if is_image_name(entry.name) else is_folder
        if not entry.is_symlink() or not is_kind:
            return False
        target = os.path.realpath(entry.path) + b"/"
        return not target.startswith(self._root.rstrip(b"/") + b"/")


def _is_dicom_file(entry: os.DirEntry[bytes]) -> bool:
    with suppress(OSError):
        if entry.is_file(follow_symlinks=False):
            with Path(os.fsdecode(entry.path)).open("rb") as file:
                return is_dicom(file.read(DICOM_START))
    return False


N_CHECKED = 100  # so many paths of a list are looked up; if none is a file, it is no list of images


class ManifestSource(FileSource):
    """The images that a list names, in its order; paths are relative to the list.

    A .txt list has one path a line; empty lines and lines that start with # are ignored. A .csv or
    .tsv list has a header with a column of paths and perhaps one of classes. Folders are separated
    by / or \\ on every system. A path that leaves the folder of the list is refused: a foreign list
    must not choose other files of this machine.
    """

    def __init__(self, path: str | Path, name: str, label: str | None = None) -> None:
        """Read the list, not the images; refuse a file that is not a list of images."""
        self.name, self._label, self._path = name, label, Path(path)
        self._root = os.fsencode(self._path.resolve().parent)
        self._words: list[bytes] = []
        self._is_table = self._path.suffix.lower() in (".csv", ".tsv")
        try:
            self._names = list(self._table_paths() if self._is_table else self._paths())
        except (OSError, ValueError, csv.Error) as error:
            raise self._no_list(reason(error)) from error
        n_first = min(len(self), N_CHECKED)
        if not n_first:
            raise self._no_list("it names no images")
        # Otherwise it is probably another text.
        if not any(os.path.isfile(self._absolute(index)) for index in range(n_first)):  # noqa: PTH113
            raise self._no_list(
                f"none of its first {n_first} lines names a file beside it, "
                f"such as '{self.locate(0)[:60]}'"
            )

    def file_path(self, index: int) -> bytes | None:
        """The path of the file; None for a link that leaves the folder of the list."""
        path = os.path.realpath(self._absolute(index))
        return path if path.startswith(self._root.rstrip(b"/") + b"/") else None

    @cached_property
    def labels(self) -> Labels | None:
        """The classes of the label column; None without such a column or if a label is blank."""
        return labels_from_words(self._words) if self._words and all(self._words) else None

    @cached_property
    def why_unlabelled(self) -> str:
        """A sentence about blank labels, or a table without a column of classes."""
        if self._is_table and not self._words:
            return why_no_label_column(self._path)
        if b"" not in self._words:
            return ""
        return (
            f"{self._words.count(b'')} of its {len(self)} labels are blank: fill them in, or drop "
            f"these rows. The first is that of {self.locate(self._words.index(b''))}."
        )

    def column(self, name: str) -> list[str] | None:
        """The values of a column of a CSV or TSV list, one for each image; None without it."""
        if not self._is_table:
            return None
        head, rows = read_table(self._path)
        if (name := name.strip().lower()) not in head:
            return None
        return [row[head.index(name)].strip() for _, row in rows]

    def _paths(self) -> Iterator[bytes]:
        for number, line in enumerate(lines_of(self._path), 1):
            entry = line.strip()
            if entry and not entry.startswith(b"#"):
                yield self._checked(entry, number)

    def _table_paths(self) -> Iterator[bytes]:
        head, rows = read_table(self._path)
        at_path, at_label = path_column(head), label_column(head, self._label)
        for number, row in rows:
            if at_label is not None:
                self._words.append(row[at_label].strip().encode("utf-8", "surrogateescape"))
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

    def _no_list(self, why: str) -> InputError:
        return InputError(
            f"{self._path} is not a list of images: {why}. Give a folder, an archive, or a text "
            "file with one path a line, relative to that file."
        )
