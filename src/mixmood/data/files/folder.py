"""A pool that is a folder of image files."""

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from mixmood.core.errors import InputError, reason
from mixmood.core.files.bounded import read_image_file
from mixmood.core.words import counted, either_form
from mixmood.data.files.named_files import PathSource
from mixmood.data.files.names import (
    Names,
    is_foreign_folder,
    is_image_name,
    may_be_dicom,
    shown_bytes,
)
from mixmood.data.files.passed_over import PassedOver
from mixmood.data.labels.detection import labels_from_coco, labels_from_yolo
from mixmood.data.labels.label_file import FILES, label_file_in, labels_from_file
from mixmood.data.medical.dicom import DICOM_START, is_dicom
from mixmood.data.pools.pool import Labels


class FolderSource(PathSource):
    """All image files below a folder; opening lists the names and reads no images.

    Files without a suffix may be DICOM: their first bytes are read. Hidden files, files of
    operating systems, sockets and the like are left out. A symbolic link to a file counts if its
    target is inside the pool. Links to folders are not followed: no image is listed twice, and no
    search is endless. Files that are added after opening are not in the list.
    """

    def __init__(self, path: str | Path, name: str, label: str | None = None) -> None:
        """List the images below `path`; refuse a folder that has none or cannot be listed.

        Args:
            path: The folder.
            name: The name of the pool in results.
            label: The column of labels.csv with the classes; by default one with a usual name.
        """
        self.name = name
        self._label = label
        self._root = os.fsencode(Path(path).resolve())
        walk = _Walk(self._root)
        self._names = Names.sorted(walk)
        self.notes = walk.passed_over.notes()
        n_links = walk.n_leaving
        if not len(self._names):
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
        folder = Path(os.fsdecode(self._root))
        if (table := label_file_in(folder)) is not None:
            labels, missing = labels_from_file(table, self._names, self._label)
            self.notes += (missing,) if missing else ()
            if labels is not None or missing:
                return labels
        if self._label is not None:
            raise InputError(
                f"{folder} has no table of labels with a column '{self._label}'. Put one into the "
                f"folder, called {' or '.join(FILES)}."
            )
        return (
            labels_from_coco(folder, self._names)
            or labels_from_yolo(folder, self._names)
            or super().labels
        )

    @property
    def why_unlabelled(self) -> str:
        """A sentence about images beside the class folders; with labels.csv, a note says more."""
        folder = Path(os.fsdecode(self._root))
        return "" if label_file_in(folder) is not None else super().why_unlabelled

    def fetch(self, index: int) -> bytes:
        """The bytes of the file."""
        return read_image_file(self.file_path(index), shown_bytes(self._names[index]))

    def file_path(self, index: int) -> bytes:
        """The path of the file."""
        return self._root + b"/" + self._names[index]


def is_read_by_a_folder(file: Path, folder: Path) -> bool:
    """Whether a file exists that belongs to a folder of images: an image, or its labels.csv.

    Args:
        file: The file, as a resolved path.
        folder: The folder, as a resolved path.
    """
    is_own = is_image_name(os.fsencode(file.name)) and file.is_relative_to(folder)
    is_table = file.name in FILES and file.parent == folder
    return (is_own or is_table) and file.is_file()


class _Walk:
    """Yields the relative path of every image below a folder, and counts the other files."""

    def __init__(self, root: bytes) -> None:
        self._root = root
        self.n_others = 0
        self.n_leaving = 0
        self.passed_over = PassedOver()

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
            elif may_be_dicom(name) and self._is_dicom(entry):
                yield prefix + name
            else:
                self.n_others += 1
                if self._is_link_elsewhere(entry):
                    self.n_leaving += 1
                elif not is_image_name(name):
                    self.passed_over.add(name)
                elif entry.is_symlink() and entry.is_file():
                    yield prefix + name

    def _is_dicom(self, entry: os.DirEntry[bytes]) -> bool:
        """Whether a file starts like DICOM."""
        if not entry.is_file(follow_symlinks=False):
            return False
        try:
            with Path(os.fsdecode(entry.path)).open("rb") as file:
                return is_dicom(file.read(DICOM_START))
        except OSError:
            return False

    def _is_link_elsewhere(self, entry: os.DirEntry[bytes]) -> bool:
        """Whether an image or a folder is a link to one that is not in the pool."""
        name = entry.name
        if not entry.is_symlink() or not (
            entry.is_file()
            if is_image_name(name)
            else entry.is_dir() and not is_foreign_folder(name)
        ):
            return False
        target = os.path.realpath(entry.path) + b"/"
        return not target.startswith(self._root.rstrip(b"/") + b"/")
