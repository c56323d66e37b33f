"""A pool in which every frame of a DICOM file is an image of its own."""

import hashlib
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Rows
from mixmood.core.errors import UnreadableImageError
from mixmood.core.text import check_name
from mixmood.data.images.decode import QUIET, Raw
from mixmood.data.images.dicom import DicomError, Frame, count_frames, is_dicom, read_frame
from mixmood.data.images.names import EACH, MIDDLE
from mixmood.data.images.pixel_range import PixelRange
from mixmood.data.images.pool import ImageSource, Labels, Pool


def with_frames(pool: Pool, frames: str) -> Pool:
    """The pool with the middle frame of every DICOM file, or with all frames as images."""
    check_name("choice of frames", frames, (MIDDLE, EACH))
    if frames == MIDDLE or not isinstance(pool, ImageSource) or isinstance(pool, FramesSource):
        return pool
    return FramesSource(pool)


class FramesSource(ImageSource):
    """All frames of the DICOM files of another pool, and its other images."""

    def __init__(self, files: ImageSource) -> None:
        """Read every file to count its frames; an unreadable one counts as one image."""
        self.name, self.notes = files.name, files.notes
        self._files = files
        counts = np.array([self._count(index) for index in range(len(files))], np.int64)
        self._starts = np.concatenate([[0], np.cumsum(counts)])

    def __len__(self) -> int:
        """The number of frames and of images that are not DICOM."""
        return int(self._starts[-1])

    def fetch(self, index: int) -> Raw:
        """The frame as pixels; an image that is not DICOM as it is stored."""
        found = self._read(index)
        return found.picture(self.pixel_range) if isinstance(found, Frame) else found

    def locate(self, index: int) -> str:
        """The file, and the number of the frame if the file has several."""
        file, frame = self._place(index)
        is_single = self._starts[file + 1] - self._starts[file] == 1
        return self._files.locate(file) + ("" if is_single else f"[{frame}]")

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the files and of their numbers of frames."""
        content = self._files.fingerprint.encode() + self._starts.astype("<i8").tobytes()
        return hashlib.sha256(content).hexdigest()

    @cached_property
    def labels(self) -> Labels | None:
        """The classes of the files."""
        labels = self._files.labels
        self.notes = self._files.notes  # one may say why there are none
        if labels is None:
            return None
        return Labels(np.repeat(labels.codes, np.diff(self._starts)), labels.names)

    @property
    def why_unlabelled(self) -> str:
        """What the files say."""
        return self._files.why_unlabelled

    def column(self, name: str) -> list[str] | None:
        """The values of a column of the files, one for each frame; None without it."""
        values = self._files.column(name)
        return None if values is None else np.repeat(values, np.diff(self._starts)).tolist()

    def wide_values(self, index: int) -> NDArray[np.generic] | None:
        """The grey values of a frame of more than eight bits without a window of its own."""
        found = self._read(index)
        if not isinstance(found, Frame):
            return self._files.wide_values(self._place(index)[0])
        return found.values if found.is_wide else None

    def scaled_by(self, pixel_range: PixelRange | None) -> Self:
        """This pool with its images of more than eight bits scaled by this range."""
        pool = super().scaled_by(pixel_range)
        # The files may be frames themselves, of a list that `mixmood filter` wrote.
        pool._files = self._files.scaled_by(pixel_range)
        return pool

    def reading_order(self, indices: Rows) -> Rows:
        """The order of the files, and within a file that of its frames."""
        files = np.searchsorted(self._starts, indices, side="right") - 1
        place = np.argsort(self._files.reading_order(np.arange(len(self._files))))
        return np.lexsort((np.asarray(indices), place[files]))

    def _place(self, index: int) -> tuple[int, int]:
        file = int(np.searchsorted(self._starts, index, side="right")) - 1
        return file, index - int(self._starts[file])

    def _read(self, index: int) -> Raw | Frame:
        file, frame = self._place(index)
        raw = self._files.fetch(file)
        if not is_dicom(raw):
            return raw
        try:
            with QUIET:
                return read_frame(raw, frame)
        except DicomError as error:
            raise UnreadableImageError(f"{self.locate(index)}: {error}.") from None

    def _count(self, index: int) -> int:
        try:
            raw = self._files.fetch(index)
            with QUIET:
                return min(count_frames(raw), len(raw)) if is_dicom(raw) else 1
        except (UnreadableImageError, DicomError):
            return 1
