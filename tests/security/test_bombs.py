"""Small files that unpack to everything: what they take is measured in a process of their own."""

import gzip
import io
import json
import resource
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from functools import cache

import numpy as np
import pytest
from PIL import Image

LIMIT_MB = 300
MEGABYTE = bytes(2**20)
READ = """
import json, resource, sys
from mixmood.core.errors import MixmoodError
from mixmood.data.open import open_pool

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

before, told = peak(), []
try:
    pool = open_pool(sys.argv[1])
    told = [str(picture) for picture in pool.read([0]) if isinstance(picture, Exception)]
except MixmoodError as error:
    told = [str(error)]
print(json.dumps([peak() - before, told]))
"""


def read_apart(path):
    """How many more megabytes the process took at its peak, and what it was told."""
    result = subprocess.run(
        [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def chunk(kind, data):
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


def png(side, *chunks):
    head = struct.pack(">2I5B", side, side, 8, 0, 0, 0, 0)
    body = b"".join(
        chunk(kind, data) for kind, data in (*chunks, (b"IDAT", zlib.compress(b"\0\0")))
    )
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + body + chunk(b"IEND", b"")


def image_with_too_many_pixels(folder):
    (folder / "1.png").write_bytes(png(13_300))
    return folder


def image_with_a_gigabyte_of_text(folder):
    text = b"Comment\0\0" + zlib.compress(bytes(2**30 // 4), 1)
    (folder / "1.png").write_bytes(png(1, (b"zTXt", text)))
    return folder


@cache
def packed_gigabyte():
    """The bytes of a zip. To pack zeros takes seconds: a packed megabyte is repeated instead."""
    packer = zlib.compressobj(1, wbits=-15)
    packed = packer.compress(MEGABYTE) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = packed * 2**10 + packer.flush()
    checksum = 0
    for _ in range(2**10):
        checksum = zlib.crc32(MEGABYTE, checksum)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("1.png", packed)
    data = bytearray(buffer.getvalue())
    # It was stored: say in both of its headers that it is packed, and what it unpacks to.
    for method_at in (data.index(b"PK\3\4") + 8, data.index(b"PK\1\2") + 10):
        struct.pack_into("<H", data, method_at, zipfile.ZIP_DEFLATED)
        struct.pack_into("<3L", data, method_at + 6, checksum, len(packed), 2**30)
    return bytes(data)


def zip_of_a_gigabyte(folder):
    (folder / "a.zip").write_bytes(packed_gigabyte())
    return folder / "a.zip"


def zip_that_hides_a_gigabyte(folder):
    """The table of contents says 1000 bytes."""
    data = bytearray(packed_gigabyte())
    entry = data.index(b"PK\1\2")
    data[entry + 24 : entry + 28] = (1000).to_bytes(4, "little")
    (folder / "a.zip").write_bytes(data)
    return folder / "a.zip"


def idx_of_two_gigabytes(folder):
    head = b"\0\0\x08\3" + b"".join(n.to_bytes(4, "big") for n in (2**21, 32, 33))
    (folder / "a-images-idx3-ubyte.gz").write_bytes(gzip.compress(head + bytes(2**20)))
    return folder / "a-images-idx3-ubyte.gz"


def tar_of_a_member_too_large(folder):
    """A member of 600 MB is no image; its header is honest and its data is there."""
    path = folder / "a.tar.gz"
    info = tarfile.TarInfo("1.png")
    info.size = 600 * 2**20
    # A file may consist of several packed parts: a megabyte is packed once.
    parts = [gzip.compress(info.tobuf()), *[gzip.compress(MEGABYTE, 1)] * 600]
    path.write_bytes(b"".join(parts) + gzip.compress(bytes(1024)))
    return path


def npz_of_a_terabyte(folder):
    buffer = io.BytesIO()
    head = {"descr": "|u1", "fortran_order": False, "shape": (10**12, 1, 1)}
    np.lib.format.write_array_header_1_0(buffer, head)
    with zipfile.ZipFile(folder / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("images.npy", buffer.getvalue() + bytes(2**20))
    return folder / "a.npz"


def npy_of_a_terabyte(folder):
    with (folder / "a.npy").open("wb") as file:
        head = {"descr": "|u1", "fortran_order": False, "shape": (10**12, 1, 1)}
        np.lib.format.write_array_header_1_0(file, head)
    return folder / "a.npy"


def gif_with_a_huge_screen(folder):
    buffer = io.BytesIO()
    Image.new("P", (1, 1)).save(buffer, "GIF")
    data = bytearray(buffer.getvalue())
    data[6:10] = struct.pack("<2H", 65_535, 65_535)
    (folder / "1.gif").write_bytes(data)
    return folder


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(resource, "getrusage"), reason="no measure of memory")
@pytest.mark.parametrize(
    ("bomb", "message"),
    [
        (image_with_too_many_pixels, "13300 x 13300 pixels are more than the 175000000"),
        (image_with_a_gigabyte_of_text, "cannot be decoded: Decompressed data too large"),
        (gif_with_a_huge_screen, "exceeds limit of 178956970 pixels"),
        (zip_of_a_gigabyte, "1073741824 bytes is more than the 536870912"),
        (zip_that_hides_a_gigabyte, "does not unpack to the 1000 bytes promised"),
        (idx_of_two_gigabytes, "which is 2214592512 bytes, but at most"),
        (tar_of_a_member_too_large, "629145600 bytes is more than the 536870912"),
        (npz_of_a_terabyte, "states uint8 of shape (1000000000000, 1, 1)"),
        (npy_of_a_terabyte, "at most 0 are possible. The file is truncated, forged"),
    ],
)
def test_a_bomb_is_told_and_takes_no_memory(tmp_path, bomb, message):
    peak_mb, (told, *_) = read_apart(bomb(tmp_path))
    assert message in told
    assert peak_mb < LIMIT_MB
