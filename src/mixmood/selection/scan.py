"""Scores for all images of a pool, part by part, in a folder that an interrupted scan continues.

scan.json          pool, backbone and filter; a scan is resumed only if they are the same
part-START.npz     the scores of a range of images

A file is written under a temporary name and renamed, so that it is never incomplete. Which process
scores a range, and in which order, changes nothing: the parts are read in the order of the pool.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Rows, packed_arrays, read_arrays
from mixmood.core.cache import FeatureCache
from mixmood.core.errors import InputError, OutputError, reason
from mixmood.core.files import make_folder, write_atomic
from mixmood.core.listener import Listener, Recorder
from mixmood.data.images.pool import Pool
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.sample import Extractor, Sample
from mixmood.selection.scorer import Scorer

HEAD = "scan.json"
PART_SIZE = 2048
"""Images in a part: ten megabytes of features, and ten seconds of a core."""


@dataclass(frozen=True)
class ScanPart:
    """The results of a scan for consecutive images of a pool, one entry for each.

    Attributes:
        scores: Larger is more like the labelled images; meaningless where unreadable.
        nearest: The index of the nearest labelled image.
        is_copy: Whether the image is a copy of that labelled image.
        codes: Hash codes by which duplicates within the pool are found, shape (n, 2).
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
        """The number of images of the part."""
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
    """The ranges of all parts of a pool: the first index, and the index after the last one.

    >>> ranges(5000)
    [(0, 2048), (2048, 4096), (4096, 5000)]
    """
    starts = range(0, n_images, PART_SIZE)
    return [(start, min(start + PART_SIZE, n_images)) for start in starts]


class PartFolder:
    """The parts of one scan, in a folder beside the output file."""

    def __init__(self, folder: Path, n_images: int) -> None:
        """Remember the folder; nothing is read or written yet."""
        self.folder = folder
        self._n_images = n_images

    @classmethod
    def beside(cls, out: Path, n_images: int) -> "PartFolder":
        """The folder that belongs to an output file."""
        return cls(out.with_name(f"{out.name}.parts"), n_images)

    def begin(self, head: Mapping[str, Any], *, resume: bool) -> None:
        """Make the folder; or, with `resume`, check that the scan in it has the same `head`."""
        head = {**head, "part size": PART_SIZE}
        if (self.folder / HEAD).exists():
            if not resume:
                raise OutputError(
                    f"{self.folder} holds an unfinished scan. Continue it with --resume, or "
                    "delete that folder."
                )
            self._check_same(head)
            # The folder is listed once, not once for each part: there may be half a million.
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
            if not (self.folder / _name(start)).exists()
        ]

    def __iter__(self) -> Iterator[tuple[int, ScanPart]]:
        """The first index and the content of every part, in the order of the pool."""
        for start, stop in ranges(self._n_images):
            yield start, self._read(start, stop - start)

    def __len__(self) -> int:
        """The number of images of all parts together."""
        return self._n_images

    def remove(self) -> None:
        """Delete the folder, whose content is in the output now.

        scan.json is deleted last, so that a kill during the deletion leaves a scan to resume.
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
            # Parts without it would be taken for files of somebody else.
            raise InputError(
                f"{path} is damaged: {reason(error)}. Delete that folder and scan again."
            ) from error
        wanted = json.loads(json.dumps(head))
        known = found if isinstance(found, dict) else {}
        different = sorted(key for key in wanted if known.get(key) != wanted[key])
        if different:
            raise InputError(
                f"The scan in {self.folder} was started with another {' and '.join(different)}. "
                "Give the same options, or delete that folder."
            )


def write_part(folder: Path, start: int, part: ScanPart) -> None:
    """Write one part; a file that is there is complete."""
    content = packed_arrays({name: getattr(part, name) for name in PART_KINDS})
    write_atomic(folder / _name(start), content)


def _name(start: int) -> str:
    return f"part-{start:012d}.npz"


def _damaged(path: Path, why: str) -> InputError:
    return InputError(f"{path} is damaged: {why}. Delete it and continue with --resume.")


LONGEST_PROBLEM = 200


@dataclass(frozen=True)
class Scan:
    """A pool, and what its ranges are scored with."""

    pool: Pool
    scorer: Scorer
    backbone: Backbone | None
    jobs: int | None
    cache: FeatureCache | None

    def scored(self, start: int, stop: int, progress: Listener) -> ScanPart:
        """The results for the images `start` to `stop` - 1."""
        extractor = Extractor(self.backbone, self.jobs, self.cache, _RangeProgress(progress))
        found = extractor.read(self.pool, np.arange(start, stop))
        return _part(self.scorer, found, start)


def _part(scorer: Scorer, found: Sample, start: int) -> ScanPart:
    """The results for the images tried, in the order of the pool; `start` is the first of them."""
    places, n_images = found.rows - start, found.n_tried
    batch = scorer.filter.scored(found.features)
    classes, confidence = np.full(n_images, -1, np.int32), np.zeros(n_images)
    if scorer.head is not None and len(places):
        chances = scorer.head.predict_proba(found.features)
        classes[places], confidence[places] = chances.argmax(axis=1), chances.max(axis=1)
    problems = [""] * n_images
    for index, text in found.unreadable:
        problems[index - start] = text[:LONGEST_PROBLEM] or "unreadable"
    return ScanPart(
        scores=_filled(batch.scores, places, n_images, 0.0),
        nearest=_filled(batch.nearest, places, n_images, -1),
        is_copy=_filled(batch.is_copy, places, n_images, False),
        codes=_filled(batch.codes, places, n_images, 0),
        classes=classes,
        confidence=confidence,
        problems=np.array(problems),
    )


def _filled(values: NDArray[Any], places: Rows, n_images: int, filler: Any) -> NDArray[Any]:
    """The values at their places among all images; `filler` at the other places."""
    found = np.full((n_images, *values.shape[1:]), filler, dtype=values.dtype)
    found[places] = values
    return found


def scan_local(
    scan: Scan, ranges: Iterable[tuple[int, int]], folder: Path, progress: Listener
) -> None:
    """Score and write every range; parts that are written when it is stopped are kept."""
    for start, stop in ranges:
        write_part(folder, start, scan.scored(start, stop, progress))


class _RangeProgress(Recorder):
    """The progress of one range, shown in the bar of the whole scan."""

    def start(self, task: str, total: int | None) -> None:
        """Do nothing: the bar of the scan has started already."""

    def finish(self, task: str) -> None:
        """Do nothing: other ranges follow."""
