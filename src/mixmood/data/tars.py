"""A pool that is a tar archive, plain or gzipped: scanned once, then read at any place."""

import zlib
from array import array
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from mixmood.core.errors import InputError, UnreadableImageError
from mixmood.data.bounded import check_size, read_at, reason
from mixmood.data.checkpoints import SeekableGzip
from mixmood.data.names import Names, is_image_path
from mixmood.data.path_source import PathSource
from mixmood.data.tar_index import PackedStream, PlainStream, Stream, read_members

_BROKEN = (zlib.error, EOFError, OSError, ValueError, OverflowError)


class TarSource(PathSource):
    """The images of a tar file, in its order; nothing is extracted to disk.

    Opening reads the headers of all members: of a plain tar only these, of a gzipped one, which
    has no table of contents, all of it is unpacked once and thrown away (see `SeekableGzip`).
    Names in the archive are only names: they never become paths, so none can leave the pool.
    Links and sparse members are left out.
    """

    def __init__(self, path: str | Path, name: str) -> None:
        """Scan `path`; refuse a broken or cut archive, or one without images."""
        self.name = name
        self._path = Path(path).resolve()
        self._offsets, self._sizes = array("q"), array("q")
        try:
            self._packed = SeekableGzip(self._path) if _is_gzip(self._path) else None
            self._names = Names.in_order(self._scan())
        except _BROKEN as error:
            raise InputError(
                f"Cannot open {path} as a tar archive: {reason(error)}. Fetch or pack it again."
            ) from error
        if not len(self._names):
            raise InputError(
                f"No images in the archive {path}. "
                "It should hold files like .png or .jpg, in folders or not."
            )

    def fetch(self, index: int) -> bytes:
        """The bytes of the member."""
        where, size = self.locate(index), self._sizes[index]
        check_size(size, where)
        if self._packed is None:
            return read_at(self._path, self._offsets[index], size, where)
        try:
            data = self._packed.read_at(self._offsets[index], size)
        except _BROKEN as error:
            raise UnreadableImageError(f"{where}: cannot be unpacked: {reason(error)}.") from error
        if len(data) != size:
            raise UnreadableImageError(f"{where}: the archive has changed since it was opened.")
        return data

    def locate(self, index: int) -> str:
        """The archive and the path inside it."""
        return f"{self._path.name}/{super().locate(index)}"

    def _scan(self) -> Iterator[bytes]:
        if self._packed is None:
            with closing(PlainStream(self._path)) as stream:
                yield from self._images(stream)
            return
        with closing(self._packed):
            yield from self._images(PackedStream(self._packed))
            while self._packed.read(2**20):
                pass  # To the end, where the file's own checksum is compared.

    def _images(self, stream: Stream) -> Iterator[bytes]:
        for name, offset, size in read_members(stream):
            if is_image_path(name):
                self._offsets.append(offset)
                self._sizes.append(size)
                yield name


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"
