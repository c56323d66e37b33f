"""A pool that is a zip archive: only its table of contents is read when it is opened."""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from mixmood.core.arrays import Rows
from mixmood.core.errors import InputError, UnreadableImageError, reason
from mixmood.core.files.bounded import check_size, inflate, read_at
from mixmood.data.archives.zip_index import ZipMember, read_zip_members
from mixmood.data.files.named_files import PathSource
from mixmood.data.files.names import Names, is_image_path, may_be_dicom_path, shown_name
from mixmood.data.files.passed_over import PassedOver
from mixmood.data.medical.dicom import DICOM_START, is_dicom

_LOCAL = struct.Struct("<4s22xHH")
_ENCRYPTED = 0x1
_MEMBER = struct.Struct("<q2QL2H")
_N_START = 4096
"""So many packed bytes hold the first bytes of a file and the deflate tables before them."""


class ZipSource(PathSource):
    """The images of a zip file, by name; nothing is extracted to disk.

    Names in the archive are never used as paths of this machine, so none can leave the pool.
    Members must be stored or deflated; others, and encrypted ones, are unreadable images. Members
    without a suffix may be DICOM: their first bytes are read.
    """

    def __init__(self, path: str | Path, name: str) -> None:
        """Read the table of contents of `path`; refuse a broken archive or one without images."""
        self.name = name
        self._path = Path(path).resolve()
        members, passed_over = bytearray(), PassedOver()
        try:
            packed = Names.in_order(self._images(members, passed_over))
        except (OSError, ValueError, struct.error) as error:
            raise InputError(
                f"Cannot open {path} as a zip archive: {reason(error)}. Fetch or pack it again."
            ) from error
        self.notes = passed_over.notes()
        if not len(packed):
            raise InputError(
                f"No images in the archive {path}. {' '.join((*self.notes, ''))}"
                "It should hold files like .png or .jpg, in folders or not."
            )

        self._names = Names.sorted(packed)
        self._members = np.frombuffer(members, f"V{_MEMBER.size}")[packed.order()].tobytes()

    def fetch(self, index: int) -> bytes:
        """The unpacked bytes of the member; never more than the table of contents states."""
        where = self.locate(index)
        place = index * _MEMBER.size
        offset, packed, size, crc, method, flags = _MEMBER.unpack_from(self._members, place)
        check_size(max(size, packed), where)
        if flags & _ENCRYPTED:
            raise UnreadableImageError(f"{where}: it is encrypted.")
        magic, n_name, n_extra = _LOCAL.unpack(read_at(self._path, offset, _LOCAL.size, where))
        if magic != b"PK\3\4":
            raise UnreadableImageError(f"{where}: no member of the archive starts at its offset.")
        data = read_at(self._path, offset + _LOCAL.size + n_name + n_extra, packed, where)
        try:
            data = _unpack(data, size, method)
        except ValueError as error:
            raise UnreadableImageError(f"{where}: cannot be unpacked: {error}.") from error
        if zlib.crc32(data) != crc:
            raise UnreadableImageError(f"{where}: cannot be unpacked: its checksum is wrong.")
        return data

    def locate(self, index: int) -> str:
        """The archive and the path inside it."""
        return f"{shown_name(self._path.name)}/{super().locate(index)}"

    def reading_order(self, indices: Rows) -> Rows:
        """The order of the members' data in the archive."""
        members = np.frombuffer(self._members, f"<i8,V{_MEMBER.size - 8}")
        return np.argsort(members["f0"][indices], kind="stable")

    def _images(self, members: bytearray, passed_over: PassedOver) -> Iterator[bytes]:
        """The names of the images; their other fields are appended to `members`."""
        with self._path.open("rb") as file:
            for member in read_zip_members(self._path):
                # Old tools on Windows separate folders by backslashes.
                name = member.name.replace(b"\\", b"/")
                is_dicom_inside = may_be_dicom_path(name) and is_dicom(_first_bytes(file, member))
                if is_image_path(name) or is_dicom_inside:
                    members += _MEMBER.pack(*member[1:])
                    yield name
                else:
                    passed_over.add_path(name)


def _first_bytes(file: IO[bytes], member: ZipMember) -> bytes:
    """The first bytes of a member; empty if it cannot be read."""
    if member.flags & _ENCRYPTED:
        return b""
    try:
        file.seek(member.offset)
        magic, n_name, n_extra = _LOCAL.unpack(file.read(_LOCAL.size))
        file.seek(n_name + n_extra, 1)
        data = file.read(min(member.packed, _N_START))
        if member.method == zipfile.ZIP_DEFLATED:
            data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, DICOM_START)
    except (OSError, OverflowError, ValueError, struct.error, zlib.error):
        return b""
    return data if magic == b"PK\3\4" else b""


def _unpack(data: bytes, size: int, method: int) -> bytes:
    if method == zipfile.ZIP_DEFLATED:
        return inflate(data, size)
    if method != zipfile.ZIP_STORED:
        raise ValueError(f"compression method {method} is not supported, only stored and deflated")
    if len(data) != size:
        raise ValueError(f"{size} bytes promised, {len(data)} stored")
    return data
