"""Small real files of every kind, made when they are needed."""

import gzip
import io
import json
import sqlite3
import struct
import tarfile
import tempfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fuzz.reseal import zipped


def pixels(mode: str = "RGB", size: tuple[int, int] = (23, 17)) -> Image.Image:
    """A small picture with edges, ramps and noise."""
    rng = np.random.default_rng(7)
    rows, columns = np.indices(size[::-1])
    grey = (rows * 9 + columns * 5 + rng.integers(0, 60, size[::-1])) % 256
    picture = Image.fromarray(np.stack([grey, grey[::-1], 255 - grey], 2).astype(np.uint8))
    return picture.convert(mode) if mode != "I;16" else Image.fromarray(grey.astype(np.uint16))


def encoded(form: str, mode: str = "RGB", **options: Any) -> bytes:
    """The picture as a file."""
    buffer = io.BytesIO()
    pixels(mode).save(buffer, form, **options)
    return buffer.getvalue()


def pngs() -> list[bytes]:
    """RGB, palette with transparency, 16 bits, one bit, with an EXIF block and with text."""
    exif = Image.Exif()
    exif[0x0112] = 6
    return [
        encoded("PNG"),
        encoded("PNG", "P", transparency=3),
        encoded("PNG", "I;16"),
        encoded("PNG", "1"),
        encoded("PNG", "LA", exif=exif),
        encoded("PNG", save_all=True, append_images=[pixels()]),
    ]


def jpegs() -> list[bytes]:
    """Baseline JPEGs: colour, grey, CMYK, with EXIF orientation."""
    exif = Image.Exif()
    exif[0x0112] = 8
    return [
        encoded("JPEG"),
        encoded("JPEG", "L"),
        encoded("JPEG", "CMYK"),
        encoded("JPEG", exif=exif),
    ]


def progressive() -> list[bytes]:
    """Progressive JPEGs."""
    return [encoded("JPEG", progressive=True), encoded("JPEG", "L", progressive=True, quality=95)]


def gifs() -> list[bytes]:
    """A still GIF and an animated one."""
    return [encoded("GIF"), encoded("GIF", save_all=True, append_images=[pixels("L")], duration=5)]


def webps() -> list[bytes]:
    """Lossy, lossless and animated WebP."""
    return [
        encoded("WEBP"),
        encoded("WEBP", "RGBA", lossless=True),
        encoded("WEBP", save_all=True, append_images=[pixels()]),
    ]


def bmps() -> list[bytes]:
    """BMP in colour, with a palette, with one bit."""
    return [encoded("BMP"), encoded("BMP", "P"), encoded("BMP", "1")]


def tiffs() -> list[bytes]:
    """TIFF raw and in each usual compression, of eight, sixteen and thirty-two bits."""
    return [
        encoded("TIFF"),
        encoded("TIFF", compression="tiff_lzw"),
        encoded("TIFF", compression="tiff_adobe_deflate"),
        encoded("TIFF", compression="jpeg"),
        encoded("TIFF", "1", compression="group4"),
        encoded("TIFF", "I;16"),
        encoded("TIFF", "F"),
    ]


def avifs() -> list[bytes]:
    """With and without transparency."""
    return [encoded("AVIF"), encoded("AVIF", "RGBA")]


def others() -> list[bytes]:
    """PPM and ICO."""
    return [encoded("PPM"), encoded("PPM", "L"), encoded("ICO"), encoded("PPM", "1")]


def members() -> dict[str, bytes]:
    """Files for an archive of two classes; the last is known by its first bytes alone."""
    return {
        "cat/1.png": encoded("PNG"),
        "cat/2.jpg": encoded("JPEG"),
        "dog/3.bmp": encoded("BMP", "1"),
        "dog/IM4": bytes(128) + b"DICM" + bytes(64),
    }


def tars() -> list[bytes]:
    """Tar files of each dialect, one with a long name, one with a link."""
    return [_tar(form) for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)]


def _tar(form: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for name, content in members().items():
            long = "x" * (120 if form != tarfile.USTAR_FORMAT else 20)
            info = tarfile.TarInfo(f"{long}/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        link = tarfile.TarInfo("link.png")
        link.type, link.linkname = tarfile.SYMTYPE, "../../etc/passwd"
        archive.addfile(link)
    return buffer.getvalue()


def images() -> NDArray[np.uint8]:
    """Six small images in an array."""
    return np.random.default_rng(1).integers(0, 256, (6, 5, 4, 3), dtype=np.uint8)


def npy(array: NDArray[Any]) -> bytes:
    """An array as .npy."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def npys() -> list[bytes]:
    """Images of bytes, of 16 bits, of floats; features; booleans."""
    floats = images().astype(np.float32) / 255
    return [
        npy(images()),
        npy(images().astype(np.uint16)),
        npy(floats),
        npy(floats.reshape(6, -1)),
        npy(floats.astype(">f8").reshape(6, -1)),
        npy(images()[..., 0] > 100),
    ]


def npz_members() -> dict[str, bytes]:
    """What an .npz with classes holds."""
    return {
        "images.npy": npy(images()),
        "labels.npy": npy(np.array([0, 1, 0, 1, 0, 1])),
        "class_names.npy": npy(np.array(["cat", "dog"])),
    }


def idx(array: NDArray[np.uint8]) -> bytes:
    """An array as IDX."""
    head = struct.pack(f">3xB{array.ndim}I", array.ndim, *array.shape)
    return head[:2] + b"\x08" + head[3:] + array.tobytes()


def idxs() -> list[bytes]:
    """Grey and coloured images."""
    return [idx(images()[..., 0]), idx(images())]


def parquets() -> list[bytes]:
    """Parquet files: a struct of bytes with classes, plain bytes, and each usual compression."""
    import pyarrow as pa
    from pyarrow import parquet

    pictures = [encoded("PNG"), encoded("JPEG"), encoded("BMP", "1")] * 2
    structs = pa.array([{"bytes": picture, "path": "x.png"} for picture in pictures])
    named = {"info": {"features": {"label": {"_type": "ClassLabel", "names": ["cat", "dog"]}}}}
    meta = {"huggingface": json.dumps(named)}
    table = pa.table({"image": structs, "label": [0, 1] * 3}).replace_schema_metadata(meta)
    plain = pa.table({"image": pa.array(pictures), "label": ["cat", "dog"] * 3})
    made = []
    for content, how in ((table, "snappy"), (plain, "none"), (plain, "zstd"), (table, "gzip")):
        buffer = io.BytesIO()
        parquet.write_table(content, buffer, compression=how, row_group_size=3)
        made.append(buffer.getvalue())
    return made


def cache_files() -> list[bytes]:
    """A feature cache of twenty rows."""
    from mixmood.core.cache import FeatureCache

    with tempfile.TemporaryDirectory() as folder:
        with FeatureCache(folder) as kept:
            kept.put(
                {key: np.full(32, place, np.float32) for place, key in enumerate(cache_keys())}
            )
            path = kept.path
        # One file without a log beside it.
        database = sqlite3.connect(path)
        database.execute("PRAGMA journal_mode = DELETE")
        database.close()
        return [path.read_bytes()]


def cache_keys() -> list[bytes]:
    """The keys of those rows."""
    return [zlib.crc32(b"%d" % place).to_bytes(4, "big") * 8 for place in range(20)]


def packed(contents: list[bytes]) -> list[bytes]:
    """The same gzipped."""
    return [gzip.compress(content, mtime=0) for content in contents]


def zips() -> list[bytes]:
    """Archives stored and deflated."""
    return [zipped(members(), False), zipped(members(), True)]


def npzs() -> list[bytes]:
    """The same as .npz."""
    return [zipped(npz_members(), False), zipped(npz_members(), True)]
