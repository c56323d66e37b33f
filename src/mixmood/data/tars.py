"""A pool that is a tar archive, plain or gzipped: scanned once, then read at any place."""

import tarfile
import zlib
from array import array
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from mixmood.core.errors import InputError, UnreadableImageError
from mixmood.data.bounded import check_size, read_at, reason
from mixmood.data.checkpoints import SeekableGzip
from mixmood.data.names import Names, is_image_path, labels_from_folders, printable
from mixmood.data.source import ImageSource, Labels

_BROKEN = (tarfile.TarError, zlib.error, EOFError, OSError, ValueError, OverflowError)
_MAX_HEADER_BYTES = 2**20
_BLOCK = 512


class TarSource(ImageSource):
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

    def __len__(self) -> int:
        """How many images the scan found."""
        return len(self._names)

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
        return f"{self._path.name}/{printable(self._names[index])}"

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the names; the content of the members is not read."""
        return self._names.digest()

    @cached_property
    def labels(self) -> Labels | None:
        """The classes that the folders inside the archive tell; see `labels_from_folders`."""
        return labels_from_folders(self._names)

    def _scan(self) -> Iterator[bytes]:
        if self._packed is not None:
            try:
                stream: Any = self._packed
                with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Header) as archive:
                    yield from self._images(archive)
                while self._packed.read(2**20):
                    pass  # To the end, where the file's own checksum is compared.
            finally:
                self._packed.close()
            _check_end(self._packed.read_at(archive.offset, _BLOCK))
        else:
            with tarfile.open(self._path, mode="r:", tarinfo=_Header) as archive:
                yield from self._images(archive)
            with self._path.open("rb") as file:
                file.seek(archive.offset)
                _check_end(file.read(_BLOCK))

    def _images(self, archive: tarfile.TarFile) -> Iterator[bytes]:
        reached = -1
        while (member := archive.next()) is not None:
            # Without this a header with a forged size can lead tarfile in a circle.
            if member.offset_data <= reached or member.size < 0:
                raise tarfile.ReadError("a member lies before the one that it follows")
            reached = member.offset_data
            # tarfile remembers every member; a million of them would take a gigabyte.
            archive.members.clear()  # type: ignore[attr-defined]
            name = member.name.encode("utf-8", "surrogateescape")
            name = name.removeprefix(b"./")
            if member.isreg() and not member.issparse() and is_image_path(name):
                self._offsets.append(member.offset_data)
                self._sizes.append(member.size)
                yield name


class _Header(tarfile.TarInfo):
    """A header that is refused before tarfile reads a gigabyte of long name for its sake."""

    @classmethod
    def frombuf(cls, buf: Any, encoding: str, errors: str) -> "_Header":
        header = super().frombuf(buf, encoding, errors)
        extends = not (header.isfile() or header.isdir() or header.isdev() or header.type in b"12")
        if header.size < 0 or (extends and header.size > _MAX_HEADER_BYTES):
            raise tarfile.ReadError(f"a header claims {header.size} bytes")
        return header


def _check_end(block: bytes) -> None:
    # tarfile takes anything that is no header for the end; only zeros, or nothing, are one.
    if len(block) not in (0, _BLOCK) or any(block):
        raise tarfile.ReadError("it is cut or damaged")


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"
