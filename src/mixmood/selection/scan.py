"""Scores for all images of a pool, part by part, in a folder that an interrupted scan continues.

scan.json          pool, backbone and filter; a scan is resumed only if they are the same
part-START.npz     the scores of a range of images

A file is written under a temporary name and renamed, so that it is never incomplete. Which process
scores a range, and in which order, changes nothing: the parts are read in the order of the pool.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mixmood.core.arrays import packed_arrays, read_arrays
from mixmood.core.errors import InputError, OutputError, errors_as
from mixmood.core.files import make_folder, read_json, write_atomic
from mixmood.core.listener import Recorder
from mixmood.data.images.pool import Pool
from mixmood.features.extract import Extractor
from mixmood.selection.scorer import SCORED, ScoredRows, Scorer

HEAD = "scan.json"
PART_SIZE = 2048  # images in a part: ten megabytes of features, and ten seconds of a core
LONGEST_PROBLEM = 200
ScanPart = ScoredRows
"""The results for consecutive images of a pool, one record for each: those of `SCORED`, which mean
nothing for images that could not be read; the code of the predicted class and its probability, -1
and 0 without classes; and the problem why an image could not be read, empty where it could."""


def empty_part(n_images: int, longest_problem: int = 1) -> ScanPart:
    """A part of images that were read and of which nothing is known yet."""
    others = [("classes", "i4"), ("confidence", "f8"), ("problems", f"U{longest_problem}")]
    part: ScanPart = np.zeros(n_images, [*SCORED, *others]).view(np.recarray)
    part.nearest, part.classes = -1, -1
    return part


def ranges(n_images: int) -> list[tuple[int, int]]:
    """The ranges of all parts of a pool: the first index, and the index after the last one.

    >>> ranges(5000)
    [(0, 2048), (2048, 4096), (4096, 5000)]
    """
    starts = range(0, n_images, PART_SIZE)
    return [(start, min(start + PART_SIZE, n_images)) for start in starts]


@dataclass(frozen=True)
class PartFolder:
    """The parts of one scan of so many images, in a folder."""

    folder: Path
    n_images: int

    def begin(self, head: Mapping[str, Any], *, resume: bool) -> None:
        """Make the folder; or, with `resume`, check that the scan in it has the same `head`."""
        head = {**head, "part size": PART_SIZE}
        if (self.folder / HEAD).exists():
            if not resume:
                raise OutputError(
                    f"{self.folder} holds an unfinished scan. Continue it with --resume, or "
                    "delete that folder."
                )
            # Parts without it would be taken for files of somebody else.
            known = read_json(self.folder / HEAD, "Delete that folder and scan again.")
            wanted = json.loads(json.dumps(head))
            different = sorted(key for key in wanted if known.get(key) != wanted[key])
            if different:
                raise InputError(
                    f"The scan in {self.folder} was started with another "
                    f"{' and '.join(different)}. Give the same options, or delete that folder."
                )
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
        every = ranges(self.n_images)
        return [part for part in every if not (self.folder / _name(part[0])).exists()]

    def __iter__(self) -> Iterator[tuple[int, ScanPart]]:
        """The first index and the content of every part, in the order of the pool."""
        for start, stop in ranges(self.n_images):
            yield start, self._read(start, stop - start)

    def remove(self) -> None:
        """Delete the folder, scan.json last: a kill meanwhile leaves a scan to resume."""
        for path in sorted(self.folder.glob("part-*.npz")):
            path.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _read(self, start: int, n_rows: int) -> ScanPart:
        path = self.folder / _name(start)
        with errors_as(InputError, f"{path} is damaged", "Delete it and continue with --resume."):
            part: ScanPart = read_arrays(path)["part"].view(np.recarray)
            wanted = empty_part(n_rows, part.problems.dtype.itemsize // 4)
            if (part.shape, part.dtype.descr) != (wanted.shape, wanted.dtype.descr):
                raise ValueError("it holds other values")
            return part


def write_part(folder: Path, start: int, part: ScanPart) -> None:
    """Write one part; a file that is there is complete."""
    write_atomic(folder / _name(start), packed_arrays({"part": part}))


def _name(start: int) -> str:
    return f"part-{start:012d}.npz"


def scored_part(
    pool: Pool, scorer: Scorer, extractor: Extractor, start: int, stop: int
) -> ScanPart:
    """The results for the images `start` to `stop` - 1."""
    found = extractor.read(pool, np.arange(start, stop))
    problems = {index - start: text[:LONGEST_PROBLEM] for index, text in found.unreadable}
    part = empty_part(found.n_tried, max(map(len, ("unreadable", *problems.values()))))
    places, scored = found.rows - start, scorer.filter.scored(found.features)
    for name in scored.dtype.names or ():
        part[name][places] = scored[name]
    if scorer.head is not None and len(places):
        chances = scorer.head.predict_proba(found.features)
        part.classes[places] = chances.argmax(axis=1)
        part.confidence[places] = chances.max(axis=1)
    for place, text in problems.items():
        part.problems[place] = text or "unreadable"
    return part


def scan_local(parts: PartFolder, pool: Pool, scorer: Scorer, extractor: Extractor) -> None:
    """Score and write the missing ranges; parts that are written when it is stopped are kept."""
    extractor = replace(extractor, listener=_RangeProgress(extractor.listener))
    for start, stop in parts.missing():
        write_part(parts.folder, start, scored_part(pool, scorer, extractor, start, stop))


class _RangeProgress(Recorder):
    """The progress of one range, shown in the bar of the whole scan."""

    def start(self, task: str, total: int | None) -> None:
        """Do nothing: the bar of the scan has started already."""

    def finish(self, task: str) -> None:
        """Do nothing: other ranges follow."""
