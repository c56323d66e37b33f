"""The folder of a scan: one whole file for every range of the pool that was scored.

scan.json          what is scanned with what; a scan goes on only where this is the same
part-START.npz     the scores of a range of images

A range is scored as a whole and its file appears as a whole. Which process scores it, and in which
order, changes nothing: the parts are read in the order of the pool.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import InputError, OutputError, reason
from mixmood.core.files.atomic import write_atomic
from mixmood.core.files.places import make_folder
from mixmood.core.files.plain_arrays import packed_arrays, read_arrays

HEAD = "scan.json"
PART_SIZE = 2048
"""Images in a part: ten megabytes of features, and ten seconds of a core."""


@dataclass(frozen=True)
class ScanPart:
    """What a scan found out about consecutive images of a pool, one entry for each.

    Attributes:
        scores: Larger is more like the labelled images; meaningless where unreadable.
        nearest: The index of the nearest labelled image.
        is_copy: Whether the image is a copy of that one.
        codes: For finding duplicates within the pool, shape (n, 2).
        classes: The code of the predicted class, -1 without classes.
        confidence: Its probability; 0 without classes.
        problems: Why an image could not be read; empty where it could.
    """

    scores: NDArray[np.float64]
    nearest: NDArray[np.int64]
    is_copy: NDArray[np.bool_]
    codes: NDArray[np.uint64]
    classes: NDArray[np.int32]
    confidence: NDArray[np.float64]
    problems: NDArray[np.str_]

    def __len__(self) -> int:
        """How many images the part is about."""
        return len(self.scores)

    @property
    def is_readable(self) -> NDArray[np.bool_]:
        """Which images could be read, shape (n,)."""
        return np.asarray(self.problems == "")


PART_KINDS = {
    "scores": "f",
    "nearest": "i",
    "is_copy": "b",
    "codes": "u",
    "classes": "i",
    "confidence": "f",
    "problems": "U",
}
"""The kind of number that each array of a part holds."""


def ranges(n_images: int) -> list[tuple[int, int]]:
    """The parts of a pool: pairs of first index and the index behind the last.

    >>> ranges(5000)
    [(0, 2048), (2048, 4096), (4096, 5000)]
    """
    starts = range(0, n_images, PART_SIZE)
    return [(start, min(start + PART_SIZE, n_images)) for start in starts]


class PartFolder:
    """The parts of one scan, beside the file that they become."""

    def __init__(self, folder: Path, n_images: int) -> None:
        """Name the folder; nothing is touched yet."""
        self.folder = folder
        self._n_images = n_images

    @classmethod
    def beside(cls, out: Path, n_images: int) -> "PartFolder":
        """The folder that belongs to an output file."""
        return cls(out.with_name(f"{out.name}.parts"), n_images)

    def begin(self, head: Mapping[str, Any], *, resume: bool) -> None:
        """Make the folder, or go on with the scan in it if that is the same and asked for."""
        head = {**head, "part size": PART_SIZE}
        if (self.folder / HEAD).exists():
            if not resume:
                raise OutputError(
                    f"{self.folder} holds an unfinished scan. Go on with it by --resume, or "
                    "delete that folder."
                )
            self._check_same(head)
            # One look at the folder for all parts: there may be half a million.
            for leftover in self.folder.glob(".part-*"):
                leftover.unlink(missing_ok=True)
            return
        make_folder(self.folder)
        if any(not path.name.startswith(".") for path in self.folder.iterdir()):
            raise OutputError(f"{self.folder} holds other files. Choose another --out.")
        write_atomic(self.folder / HEAD, json.dumps(head, indent=1, sort_keys=True) + "\n")

    def missing(self) -> list[tuple[int, int]]:
        """The ranges that are not scored yet."""
        return [
            (start, stop)
            for start, stop in ranges(self._n_images)
            if not has_part(self.folder, start)
        ]

    def write(self, start: int, part: ScanPart) -> None:
        """Keep a part, whole or not at all."""
        write_part(self.folder, start, part)

    def __iter__(self) -> Iterator[tuple[int, ScanPart]]:
        """The first index and the content of every part, in the order of the pool."""
        for start, stop in ranges(self._n_images):
            yield start, self._read(start, stop - start)

    def __len__(self) -> int:
        """How many images the parts are about."""
        return self._n_images

    def remove(self) -> None:
        """Delete the folder: its content is in the output now.

        What names the scan goes last, so that a kill in the middle leaves a scan to go on with.
        """
        for path in sorted(self.folder.glob("part-*.npz")):
            path.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _read(self, start: int, n_rows: int) -> ScanPart:
        path = self.folder / _name(start)
        try:
            arrays = read_arrays(path)
            values = {name: arrays[name] for name in PART_KINDS}
        except Exception as error:
            # A damaged archive raises a dozen kinds of errors.
            raise _damaged(path, reason(error)) from error
        for name, kind in PART_KINDS.items():
            if len(values[name]) != n_rows or values[name].dtype.kind != kind:
                raise _damaged(path, f"its array '{name}' does not fit")
        return ScanPart(**values)

    def _check_same(self, head: Mapping[str, Any]) -> None:
        path = self.folder / HEAD
        try:
            found = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            raise _damaged(path, reason(error)) from error
        wanted = json.loads(json.dumps(head))
        known = found if isinstance(found, dict) else {}
        different = sorted(key for key in wanted if known.get(key) != wanted[key])
        if different:
            raise InputError(
                f"The scan in {self.folder} was begun with another {' and '.join(different)}. "
                "Give the same options, or delete that folder."
            )


def write_part(folder: Path, start: int, part: ScanPart) -> None:
    """Write one part as a whole."""
    write_packed(folder, start, packed_part(part))


def packed_part(part: ScanPart) -> bytes:
    """The content of the file of a part."""
    return packed_arrays({name: getattr(part, name) for name in PART_KINDS})


def write_packed(folder: Path, start: int, content: bytes) -> None:
    """Write a part that was packed elsewhere, as a whole."""
    write_atomic(folder / _name(start), content)


def has_part(folder: Path, start: int) -> bool:
    """Whether the part that begins at this index is written."""
    return (folder / _name(start)).exists()


def _name(start: int) -> str:
    return f"part-{start:012d}.npz"


def _damaged(path: Path, why: str) -> InputError:
    return InputError(f"{path} is damaged: {why}. Delete it and go on with --resume.")
