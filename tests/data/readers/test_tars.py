"""What tar alone knows: links, headers that lie, and gzip that is read at any place."""

import gzip
import io
import tarfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mixmood.core.errors import InputError, UnreadableImageError
from mixmood.data.readers import gzip_access as checkpoints
from mixmood.data.readers.gzip_access import SeekableGzip
from mixmood.data.readers.tar import TarSource


def test_links_in_a_tar_are_left_out(tmp_path, png):
    path = tmp_path / "crawl.tar"
    with tarfile.open(path, "w") as archive:
        for name, kind in [("a.png", tarfile.SYMTYPE), ("b.png", tarfile.LNKTYPE)]:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
        info = tarfile.TarInfo("./c.png")
        info.size = len(png(3))
        archive.addfile(info, io.BytesIO(png(3)))
    source = TarSource(path, "crawl")
    assert [source.locate(index) for index in range(len(source))] == ["crawl.tar/c.png"]


@pytest.mark.parametrize("format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_in_a_tar_are_whole(format, tmp_path, png):
    path, name = tmp_path / "crawl.tar", "ü" * 150 + ".png"
    with tarfile.open(path, "w", format=format) as archive:
        info = tarfile.TarInfo(name)
        info.size = len(png(3))
        archive.addfile(info, io.BytesIO(png(3)))
    assert TarSource(path, "crawl").locate(0) == f"crawl.tar/{name}"


def test_a_tar_cut_inside_a_header_is_refused(pack, opened):
    """tarfile itself takes such a cut for the end and loses images without a word."""
    path = pack("tar", {"1.png": 1, "2.png": 2})
    path.write_bytes(path.read_bytes()[:1100])
    with pytest.raises(InputError, match="it is truncated"):
        opened(path)


def test_a_tar_with_a_damaged_header_is_refused(pack, opened):
    path = pack("tar", {"1.png": 1, "2.png": 2})
    data = bytearray(path.read_bytes())
    data[1024 + 20] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match="a header is damaged, or it is not a tar"):
        opened(path)


def test_a_gzipped_tar_with_a_wrong_checksum_is_refused(pack, opened):
    path = pack("tar.gz", {"1.png": 1})
    data = bytearray(path.read_bytes())
    data[-6] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"as a tar archive: .*incorrect data check"):
        opened(path)


def forged_header(size_field, kind=tarfile.REGTYPE):
    """A tar header whose size field is what we say, with a right checksum."""
    info = tarfile.TarInfo("1.png")
    info.type = kind
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    block[124:136] = size_field
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def test_a_tar_header_with_a_negative_size_is_refused(tmp_path):
    (tmp_path / "crawl.tar").write_bytes(forged_header(b"\xff" * 12) + bytes(1024))
    with pytest.raises(InputError, match="a header is damaged"):
        TarSource(tmp_path / "crawl.tar", "crawl")


def test_a_tar_header_with_a_gigantic_name_is_refused_before_it_is_read(tmp_path):
    header = forged_header(b"%011o\0" % 2**32, tarfile.GNUTYPE_LONGNAME)
    path = tmp_path / "crawl.tar.gz"
    path.write_bytes(gzip.compress(header + bytes(4096)))
    with pytest.raises(InputError, match="a header claims 4294967296 bytes"):
        TarSource(path, "crawl")


def test_a_tar_that_leads_in_a_circle_is_refused(tmp_path):
    """A size in an extended header that is negative sends tarfile back to where it was."""
    path = tmp_path / "crawl.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("1.png")
        info.pax_headers = {"size": "-1536"}
        archive.addfile(info)
    with pytest.raises(InputError, match="a header claims -1536 bytes"):
        TarSource(path, "crawl")


def test_a_gzipped_tar_that_was_replaced_gives_unreadable_images(pack, opened):
    path = pack("tar.gz", {"1.png": b"x" * 5000})
    source = opened(path)
    path.write_bytes(gzip.compress(b"y" * 600))
    with pytest.raises(UnreadableImageError, match="the archive has changed since"):
        source.fetch(0)


def test_a_gzipped_tar_that_is_cut_while_it_is_read_gives_unreadable_images(pack, opened, rng):
    path = pack("tar.gz", {"1.png": rng.bytes(5000)})
    source = opened(path)
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(
        UnreadableImageError, match="1.png: cannot be unpacked: the compressed data ends"
    ):
        source.fetch(0)


@pytest.fixture
def packed_noise(tmp_path):
    """Three million bytes that hardly compress, in two gzip members with zeros behind."""
    data = np.random.default_rng(0).integers(0, 200, 3_000_000, dtype=np.uint8).tobytes()
    path = tmp_path / "noise.gz"
    path.write_bytes(
        gzip.compress(data[:1_700_000], 1) + gzip.compress(data[1_700_000:], 1) + bytes(99)
    )
    return path, data


def whole(packed):
    pieces = []
    while piece := packed.read(70_000):
        pieces.append(piece)
    packed.close()
    return b"".join(pieces)


def test_a_seekable_gzip_gives_what_gzip_gives_at_any_place(packed_noise, monkeypatch):
    monkeypatch.setattr(checkpoints, "_FIRST_SPACING", 50_000)
    monkeypatch.setattr(checkpoints, "_MOST_CHECKPOINTS", 20)
    path, data = packed_noise
    packed = SeekableGzip(path)
    assert whole(packed) == data
    assert 10 <= len(packed._checkpoints) <= 20
    rng = np.random.default_rng(1)
    for offset in [0, 1, 1_699_999, 1_700_000, 2_999_990, *rng.integers(0, 3_000_000, 30)]:
        assert packed.read_at(int(offset), 5000) == data[offset : offset + 5000]
    assert packed.read_at(3_000_000, 10) == b""


def test_a_read_starts_at_the_nearest_checkpoint(packed_noise, monkeypatch):
    monkeypatch.setattr(checkpoints, "_FIRST_SPACING", 50_000)
    path, _ = packed_noise
    packed = SeekableGzip(path)
    whole(packed)
    steps = []
    step = checkpoints._Reader.step
    monkeypatch.setattr(checkpoints._Reader, "step", lambda self: steps.append(1) or step(self))
    packed.read_at(2_900_000, 1000)
    assert len(steps) < 8


def test_a_gzip_made_to_fill_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "_FREE_BYTES", 10**6)
    path = tmp_path / "bomb.tar.gz"
    path.write_bytes(gzip.compress(bytes(30_000_000)))
    with pytest.raises(InputError, match=r"bomb\.tar\.gz unpacks to more than 200 times its size"):
        TarSource(path, "bomb")


def test_reading_a_gzip_in_threads_agrees(packed_noise):
    path, data = packed_noise
    packed = SeekableGzip(path)
    whole(packed)
    places = range(0, 3_000_000, 130_000)
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda offset: packed.read_at(offset, 100), places))
    assert found == [data[offset : offset + 100] for offset in places]
