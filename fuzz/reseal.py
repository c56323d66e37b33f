"""Corrects checksums after a mutation, so that readers do not stop at the checksum."""

import gzip
import io
import struct
import zipfile
import zlib

_BLOCK = 512


def png(data: bytes) -> bytes:
    """The PNG with the checksum of every chunk set right, as far as chunks can be followed."""
    result, at = bytearray(data), 8
    while at + 12 <= len(result):
        (length,) = struct.unpack_from(">I", result, at)
        end = at + 8 + length
        if end + 4 > len(result):
            break
        struct.pack_into(">I", result, end, zlib.crc32(result[at + 4 : end]))
        at = end + 4
    return bytes(result)


def tar(data: bytes) -> bytes:
    """The tar with the checksum set right in every block that says `ustar`."""
    result = bytearray(data)
    for at in range(0, len(result) - _BLOCK + 1, _BLOCK):
        if result[at + 257 : at + 262] == b"ustar":
            result[at + 148 : at + 156] = b" " * 8
            told = sum(result[at : at + _BLOCK])
            result[at + 148 : at + 156] = b"%06o\0 " % told
    return bytes(result)


def gz(data: bytes) -> bytes:
    """The mutated content in a gzip file that is whole."""
    return gzip.compress(data, mtime=0)


def zipped(files: dict[str, bytes], packed: bool) -> bytes:
    """A zip archive that is whole, with members that are not."""
    buffer = io.BytesIO()
    how = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    with zipfile.ZipFile(buffer, "w", how) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, compress_type=how)
    return buffer.getvalue()


def unzipped(data: bytes) -> dict[str, bytes]:
    """The members of a zip archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
