"""A pool that is a tar archive, plain or gzipped: scanned once, then read at any offset."""

import zlib
from array import array
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

from mixmood.core.arrays import Rows
from mixmood.core.cache.features import FeatureCache
from mixmood.core.errors import InputError, UnreadableImageError, reason
from mixmood.core.files.bounded import check_size, read_at
from mixmood.data.archives.gzip_access import SeekableGzip, most_unpacked
from mixmood.data.archives.kept_index import ArchiveIndex, archive_key, archive_stamp
from mixmood.data.archives.tar_index import PackedStream, PlainStream, TarMember, read_tar_members
from mixmood.data.files.named_files import PathSource
from mixmood.data.files.names import Names, is_image_path, may_be_dicom_path, shown_name
from mixmood.data.files.passed_over import PassedOver, passed_over_notes
from mixmood.data.medical.dicom import is_dicom

_BROKEN = (zlib.error, EOFError, OSError, ValueError, OverflowError)


class TarSource(PathSource):
    """The images of a tar file, by name; nothing is extracted to disk.

    The first opening scans the archive. Of a plain tar only the headers of the members are read; a
    gzipped tar has to be unpacked once as a whole. The index is kept in the cache, and the archive
    is scanned again only if it changes. Reading an image of a gzipped tar for the first time
    unpacks everything before that image (see `SeekableGzip`).

    Names in the archive are never used as paths of this machine, so none can leave the pool. Links
    and sparse members are left out. Members without a suffix may be DICOM: their first bytes are
    read.
    """

    def __init__(self, path: str | Path, name: str, cache: FeatureCache | None = None) -> None:
        """Look up or scan `path`; refuse a damaged archive, or one without images."""
        self.name = name
        self._path = Path(path).resolve()
        try:
            self._packed = SeekableGzip(self._path) if _is_gzip(self._path) else None
            index = (self._kept(cache) if cache else None) or self._scanned(cache)
        except _BROKEN as error:
            raise InputError(
                f"Cannot open {path} as a tar archive: {reason(error)}. Fetch or pack it again."
            ) from error
        self.notes = passed_over_notes(index.passed_over)
        if not len(index.names):
            raise InputError(
                f"No images in the archive {path}. {' '.join((*self.notes, ''))}"
                "It should hold files like .png or .jpg, in folders or not."
            )
        self._names, self._offsets, self._sizes = index.names, index.offsets, index.sizes

    def fetch(self, index: int) -> bytes:
        """The bytes of the member."""
        where, offset, size = self.locate(index), int(self._offsets[index]), int(self._sizes[index])
        check_size(size, where)
        if self._packed is None:
            return read_at(self._path, offset, size, where)
        try:
            data = self._packed.read_at(offset, size)
        except _BROKEN as error:
            raise UnreadableImageError(f"{where}: cannot be unpacked: {reason(error)}.") from error
        if len(data) != size:
            raise UnreadableImageError(f"{where}: the archive has changed since it was opened.")
        return data

    def locate(self, index: int) -> str:
        """The archive and the path inside it."""
        return f"{shown_name(self._path.name)}/{super().locate(index)}"

    def reading_order(self, indices: Rows) -> Rows:
        """The order of the members' data in the archive."""
        return np.argsort(self._offsets[indices], kind="stable")

    def _kept(self, cache: FeatureCache) -> ArchiveIndex | None:
        stamp, data = archive_stamp(self._path), cache.index_of(archive_key(self._path))
        if stamp is None or data is None:
            return None
        n_bytes = self._path.stat().st_size
        return ArchiveIndex.from_bytes(
            data, stamp, n_bytes if self._packed is None else most_unpacked(n_bytes)
        )

    def _scanned(self, cache: FeatureCache | None) -> ArchiveIndex:
        before = archive_stamp(self._path)
        offsets, sizes = array("q"), array("q")
        passed_over = PassedOver()
        names = Names.in_order(self._images(offsets, sizes, passed_over))
        places = names.order()
        index = ArchiveIndex(
            Names.sorted(names),
            np.frombuffer(offsets, "q")[places],
            np.frombuffer(sizes, "q")[places],
            passed_over.counts(),
        )
        is_same = before is not None and before == archive_stamp(self._path)
        if cache is not None and before is not None and is_same and len(names):
            cache.keep_index(archive_key(self._path), index.to_bytes(before))
        return index

    def _images(
        self, offsets: "array[int]", sizes: "array[int]", passed_over: PassedOver
    ) -> Iterator[bytes]:
        """The names of the images; their offsets and sizes are appended to the arrays."""
        for name, offset, size, start in self._members():
            if is_image_path(name) or is_dicom(start):
                offsets.append(offset)
                sizes.append(size)
                yield name
            else:
                passed_over.add_path(name)

    def _members(self) -> Iterator[TarMember]:
        if self._packed is None:
            with closing(PlainStream(self._path)) as stream:
                yield from read_tar_members(stream, may_be_dicom_path)
            return
        with closing(self._packed):
            yield from read_tar_members(PackedStream(self._packed), may_be_dicom_path)
            while self._packed.read(2**20):
                pass  # Read to the end, where the checksum of the file is verified.


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"
