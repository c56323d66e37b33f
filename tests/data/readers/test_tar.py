"""What tar alone knows: links, headers that lie, and gzip that is read at any place."""

import gzip
import io
import tarfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixmood.core.errors import InputError, UnreadableImageError
from mixmood.data.readers import gzip_access as checkpoints
from mixmood.data.readers.archives import TarSource, extended_records, read_tar_members
from mixmood.data.readers.gzip_access import SeekableGzip


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


FORMATS = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]
NAMES = ["a.png", "d/b.png", "e" * 90 + "/" + "f" * 95 + ".png", "./g.png", "größe.png"]


def packed(names, format, path):
    with tarfile.open(path, "w", format=format) as archive:
        for place, name in enumerate(names):
            info = tarfile.TarInfo(name)
            info.size, info.mtime = 700 * place, 1.5 if format == tarfile.PAX_FORMAT else 1
            archive.addfile(info, io.BytesIO(bytes([place + 1]) * info.size))
        for kind in (tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE):
            info = tarfile.TarInfo("other" + kind.decode())
            info.type, info.linkname = kind, "x" * (99 if format == tarfile.USTAR_FORMAT else 200)
            archive.addfile(info)
        info = tarfile.TarInfo("last.png")
        archive.addfile(info)
    return path


def by_tarfile(path):
    with tarfile.open(path) as archive:
        return [
            (m.name.encode("utf-8", "surrogateescape").removeprefix(b"./"), m.offset_data, m.size)
            for m in archive
            if m.isreg() and not m.issparse()
        ]


def scanned(path):
    with path.open("rb") as file:
        return [member[:3] for member in read_tar_members(file)]


@pytest.mark.parametrize("format", FORMATS)
def test_members_are_as_the_standard_library_reads_them(format, tmp_path):
    path = packed(NAMES, format, tmp_path / "a.tar")
    found = scanned(path)
    assert found == by_tarfile(path)
    assert len(found) == len(NAMES) + 1
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(path.read_bytes()))
    gzipped = SeekableGzip(tmp_path / "a.tar.gz")
    assert [member[:3] for member in read_tar_members(gzipped)] == found
    gzipped.close()


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.text(
            st.characters(blacklist_characters="\0/", blacklist_categories=["Cs"]),
            min_size=1,
            max_size=120,
        ),
        max_size=6,
    ),
    st.sampled_from(FORMATS[1:]),
)
def test_any_names_are_as_the_standard_library_reads_them(tmp_path_factory, names, format):
    path = packed(names, format, tmp_path_factory.mktemp("tar") / "a.tar")
    assert scanned(path) == by_tarfile(path)


class Counted(bytes):
    """Counts the bytes that are copied out of it, and out of what is."""

    n_copied = 0

    def __getitem__(self, place):
        piece = super().__getitem__(place)
        Counted.n_copied += len(piece)
        return Counted(piece)

    def partition(self, separator):
        Counted.n_copied += len(self)
        return tuple(map(Counted, super().partition(separator)))


def test_an_extended_header_of_many_lines_is_read_in_one_go():
    """A megabyte of them took 22 seconds while every line cut itself off the rest."""
    text = b"".join(b"%d %06d=\n" % (11, place) for place in range(10_000))
    assert [int(key) for key, _ in extended_records(Counted(text))] == list(range(10_000))
    assert Counted.n_copied < 5 * len(text)


@pytest.mark.parametrize(
    "text", [b"x", b"9 a=1\n", b"3 a=1\n", b"6 a:1\n", b"6 a=1\n7 b=1\n", b"9" * 5000 + b" a=1\n"]
)
def test_an_extended_header_with_wrong_lengths_is_damaged(text):
    with pytest.raises(ValueError, match="an extended header is damaged"):
        list(extended_records(text))


def test_large_sizes_in_binary_are_read(tmp_path):
    info = tarfile.TarInfo("big.png")
    info.size = 9 * 2**30
    path = tmp_path / "a.tar"
    with path.open("wb") as file:
        file.write(info.tobuf(tarfile.GNU_FORMAT))
        file.truncate(512 + 9 * 2**30)
    assert scanned(path) == [(b"big.png", 512, 9 * 2**30)]


def block(kind, size=b"%011o\0" % 0, tail=None):
    """A header of any kind, with a right checksum."""
    data = bytearray(tarfile.TarInfo("x.png").tobuf(tarfile.GNU_FORMAT))
    data[156:157], data[124:136] = kind, size
    if tail is not None:
        data[482] = tail
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data)
    return bytes(data)


def test_sparse_files_are_left_out_and_their_maps_skipped(tmp_path):
    more, last = bytearray(512), bytearray(512)
    more[504] = 1
    parts = [
        block(b"S", b"%011o\0" % 600, tail=1),
        bytes(more),
        bytes(last),
        bytes(1024),
        block(b"0"),
    ]
    (tmp_path / "a.tar").write_bytes(b"".join(parts) + bytes(1024))
    assert scanned(tmp_path / "a.tar") == [(b"x.png", 512 * 6, 0)]


def test_sums_of_signed_bytes_are_accepted(tmp_path):
    data = bytearray(block(b"0"))
    data[0] = 200
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % (sum(data) - 256)
    (tmp_path / "a.tar").write_bytes(data + bytes(1024))
    assert scanned(tmp_path / "a.tar") == [(b"\xc8.png", 512, 0)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"hello", "it is truncated"),
        (b"hello" * 200, "a header is damaged, or it is not a tar archive"),
        (block(b"0", b"%011o\0" % 600), "it is truncated"),
        (block(b"x", b"%011o\0" % 20), "it is truncated"),
        (
            block(b"x", b"%011o\0" % 20) + b"20 path without value" + bytes(491),
            "extended header is",
        ),
        (block(b"x", b"%011o\0" % 9) + b"99 path=a" + bytes(503), "extended header is damaged"),
        (block(b"x", b"%011o\0" % 9) + b"-1 path=a" + bytes(503), "extended header is damaged"),
        (block(b"x", b"%011o\0" % 11) + b"11 size=-9\n" + bytes(501) + block(b"0"), "claims -9 by"),
        (block(b"x", b"%011o\0" % 11) + b"11 size=ab\n" + bytes(501) + block(b"0"), "invalid"),
        (block(b"L", b"%011o\0" % 2**21), "a header claims 2097152 bytes"),
        (block(b"0", b"\xff" * 12), "a header is damaged"),
        (block(b"S", tail=1), "it is truncated"),
    ],
)
def test_damage_is_an_error_and_not_the_end(content, message, tmp_path):
    (tmp_path / "a.tar").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        scanned(tmp_path / "a.tar")


def test_a_cut_gzip_stream_is_an_error(tmp_path):
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(block(b"0", b"%011o\0" % 600)))
    gzipped = SeekableGzip(tmp_path / "a.tar.gz")
    with pytest.raises(ValueError, match="it is truncated"):
        list(read_tar_members(gzipped))
    gzipped.close()


def test_a_gzip_file_without_its_end_is_an_error(tmp_path):
    whole = gzip.compress(block(b"0", b"%011o\0" % 0))
    (tmp_path / "a.tar.gz").write_bytes(whole[: len(whole) // 2])
    gzipped = SeekableGzip(tmp_path / "a.tar.gz")
    with pytest.raises(EOFError, match="the compressed data ends early"):
        list(read_tar_members(gzipped))
    gzipped.close()
