"""Zip and tar are read at any place without being extracted."""

import gzip
import io
import os
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mixmood.core.errors import InputError, UnreadableImageError
from mixmood.data import checkpoints
from mixmood.data.checkpoints import SeekableGzip
from mixmood.data.folder import FolderSource
from mixmood.data.tars import TarSource
from mixmood.data.zips import ZipSource

KINDS = ["zip", "stored.zip", "tar", "tar.gz"]


@pytest.fixture
def pack(tmp_path, png):
    """Makes an archive of some kind from a dict of names and grey values or bytes."""

    def make(kind, files, name="crawl"):
        path = tmp_path / f"{name}.{kind}"
        content = {k: v if isinstance(v, bytes) else png(v) for k, v in files.items()}
        if kind.endswith("zip"):
            how = zipfile.ZIP_STORED if kind == "stored.zip" else zipfile.ZIP_DEFLATED
            with zipfile.ZipFile(path, "w", how) as archive:
                for member, data in content.items():
                    archive.writestr(member, data)
        else:
            with tarfile.open(path, "w:gz" if kind == "tar.gz" else "w") as archive:
                for member, data in content.items():
                    info = tarfile.TarInfo(member)
                    info.size = len(data)
                    archive.addfile(info, io.BytesIO(data))
        return path

    return make


def opened(path):
    return (ZipSource if path.suffix == ".zip" else TarSource)(path, "crawl")


@pytest.mark.parametrize("kind", KINDS)
def test_images_are_read_from_the_archive(kind, pack, values_of, tmp_path):
    files = {"b/1.png": 1, "a/2.png": 2, "__MACOSX/a/._2.png": 9, "notes.txt": b"x", ".h.png": 9}
    path = pack(kind, files)
    source = opened(path)
    assert values_of(source) == [2, 1]
    assert source.locate(1) == f"{path.name}/b/1.png"
    assert source.labels.counts() == {"a": 1, "b": 1}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kind", KINDS)
def test_threads_may_read_at_once(kind, pack, values_of):
    source = opened(pack(kind, {f"{value}.png": value for value in range(60)}))
    with ThreadPoolExecutor(4) as pool:
        pictures = list(pool.map(lambda index: next(source.read([index])), range(60)))
    assert [int(picture[0, 0, 0]) for picture in pictures] == list(range(60))


@pytest.mark.parametrize("kind", KINDS)
def test_the_fingerprint_is_that_of_the_list(kind, pack):
    first = opened(pack(kind, {"1.png": 1, "2.png": 2}, "a")).fingerprint
    assert opened(pack(kind, {"1.png": 1, "2.png": 2}, "b")).fingerprint == first
    assert opened(pack(kind, {"1.png": 1, "3.png": 2}, "c")).fingerprint != first


@pytest.mark.parametrize("kind", KINDS)
def test_images_have_the_order_of_a_folder_however_they_were_packed(kind, pack, tree, values_of):
    content = {"b/1.png": 1, "a/10.png": 10, "a/2.png": 2}
    folder = FolderSource(tree(content), "folder")
    backwards = dict(reversed(content.items()))
    for source in (opened(pack(kind, content, "a")), opened(pack(kind, backwards, "b"))):
        located = [source.locate(index).partition("/")[2] for index in range(3)]
        assert located == ["a/2.png", "b/1.png", "a/10.png"]
        assert values_of(source) == [2, 1, 10] == values_of(folder)
        assert source.fingerprint == folder.fingerprint


@pytest.mark.parametrize("kind", KINDS)
def test_the_quickest_order_to_read_is_that_of_the_packing(kind, pack, rng):
    packing = rng.permutation(40)
    source = opened(pack(kind, {f"{value:02}.png": int(value) for value in packing}))
    some = np.array([7, 31, 2, 18, 30])
    assert packing.tolist() == source.reading_order(np.arange(40)).tolist()
    assert some[source.reading_order(some)].tolist() == [v for v in packing if v in some]


def test_a_folder_is_read_in_its_own_order(tree):
    source = FolderSource(tree({"1.png": 1, "2.png": 2, "3.png": 3}), "folder")
    assert source.reading_order(np.array([2, 0, 1])).tolist() == [1, 2, 0]


def test_a_zip_packed_with_backslashes_has_the_same_folders(pack, tree):
    source = opened(pack("zip", {"cat\\1.png": 1, "dog\\2.png": 2, "__MACOSX\\3.png": 3}))
    folder = FolderSource(tree({"cat/1.png": 1, "dog/2.png": 2}), "folder")
    assert source.labels.counts() == {"cat": 1, "dog": 1}
    assert source.fingerprint == folder.fingerprint


@pytest.mark.parametrize("kind", KINDS)
def test_names_that_point_outside_are_only_names(kind, pack, values_of):
    """They never become paths: one with dots is left out like a hidden folder."""
    source = opened(pack(kind, {"../../evil.png": 7, "/etc/x.png": 8}))
    assert values_of(source) == [8]


@pytest.mark.parametrize("kind", KINDS)
def test_an_archive_without_images_is_refused(kind, pack):
    with pytest.raises(InputError, match=r"No images in the archive .*crawl"):
        opened(pack(kind, {"notes.txt": b"x"}))


@pytest.mark.parametrize(("kind", "word"), [("zip", "zip"), ("tar", "tar"), ("tar.gz", "tar")])
@pytest.mark.parametrize("content", [b"", b"hello" * 300, b"\x1f\x8bhello"])
def test_a_file_that_is_no_archive_is_refused(kind, word, content, tmp_path):
    path = tmp_path / f"crawl.{kind}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"Cannot open .* as a {word} archive: .* pack it again"):
        opened(path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.8])
def test_a_truncated_archive_is_refused(kind, share, pack):
    noise = np.random.default_rng(0).bytes(5000)
    path = pack(kind, {"1.png": noise, "2.png": noise, "3.png": noise})
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(InputError, match=r"Cannot open .* as a (zip|tar) archive: "):
        opened(path)


def test_a_tar_cut_inside_a_header_is_refused(pack):
    """tarfile itself takes such a cut for the end and loses images without a word."""
    path = pack("tar", {"1.png": 1, "2.png": 2})
    path.write_bytes(path.read_bytes()[:1100])
    with pytest.raises(InputError, match="it is cut"):
        opened(path)


def test_a_tar_with_a_damaged_header_is_refused(pack):
    path = pack("tar", {"1.png": 1, "2.png": 2})
    data = bytearray(path.read_bytes())
    data[1024 + 20] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match="a header is damaged, or it is no tar"):
        opened(path)


def test_a_gzipped_tar_with_a_wrong_checksum_is_refused(pack):
    path = pack("tar.gz", {"1.png": 1})
    data = bytearray(path.read_bytes())
    data[-6] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"as a tar archive: .*incorrect data check"):
        opened(path)


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


def test_a_member_larger_than_an_image_is_unreadable_before_it_is_unpacked(pack, tmp_path):
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("1.png", b"x")
    data = path.read_bytes()
    entry = data.index(b"PK\1\2")
    path.write_bytes(data[: entry + 24] + (2**31).to_bytes(4, "little") + data[entry + 28 :])
    with pytest.raises(UnreadableImageError, match=r"bomb\.zip/1\.png: 2147483648 bytes is more"):
        ZipSource(path, "bomb").fetch(0)


def test_a_zip_member_that_unpacks_to_more_than_promised_is_unreadable(pack):
    path = pack("zip", {"1.png": b"a" * 100_000})
    data = path.read_bytes()
    entry = data.index(b"PK\1\2")
    path.write_bytes(data[: entry + 24] + (500).to_bytes(4, "little") + data[entry + 28 :])
    with pytest.raises(UnreadableImageError, match="does not unpack to the 500 bytes promised"):
        opened(path).fetch(0)


def test_a_stored_zip_member_of_another_size_is_unreadable(pack):
    path = pack("stored.zip", {"1.png": b"a" * 100})
    data = path.read_bytes()
    entry = data.index(b"PK\1\2")
    path.write_bytes(data[: entry + 24] + (50).to_bytes(4, "little") + data[entry + 28 :])
    with pytest.raises(UnreadableImageError, match="50 bytes promised, 100 stored"):
        opened(path).fetch(0)


def corrupted(path, find, shift=0):
    data = bytearray(path.read_bytes())
    data[data.index(find) + shift] ^= 0xFF
    path.write_bytes(data)


def test_a_zip_member_with_a_wrong_checksum_is_unreadable(pack):
    path = pack("stored.zip", {"1.png": b"content of the file"})
    corrupted(path, b"content of")
    with pytest.raises(UnreadableImageError, match=r"1\.png: .* its checksum is wrong"):
        opened(path).fetch(0)


def test_a_zip_member_with_broken_compression_is_unreadable(pack):
    path = pack("zip", {"1.png": b"content " * 30})
    corrupted(path, b"1.png", 5)
    with pytest.raises(UnreadableImageError, match="cannot be unpacked: broken compressed data"):
        opened(path).fetch(0)


def test_a_zip_member_that_is_not_at_its_place_is_unreadable(pack):
    path = pack("zip", {"1.png": 1})
    corrupted(path, b"PK\3\4")
    with pytest.raises(UnreadableImageError, match="no member of the archive starts at its place"):
        opened(path).fetch(0)


def test_an_encrypted_zip_member_is_unreadable(pack):
    path = pack("zip", {"1.png": 1, "2.png": 2})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    first, second = opened(path).read([0, 1])
    assert str(first) == "crawl.zip/1.png: it is encrypted."
    assert second[0, 0, 0] == 2


def test_an_unknown_compression_is_unreadable(tmp_path, png):
    path = tmp_path / "crawl.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("1.png", png(1))
    with pytest.raises(UnreadableImageError, match="compression method 12 is not supported"):
        ZipSource(path, "crawl").fetch(0)


@pytest.mark.parametrize("kind", KINDS)
def test_an_archive_that_vanished_gives_unreadable_images(kind, pack):
    path = pack(kind, {"1.png": 1})
    source = opened(path)
    path.unlink()
    with pytest.raises(UnreadableImageError, match=r"1\.png: cannot be .*: No such file"):
        source.fetch(0)


@pytest.mark.parametrize("kind", ["tar", "stored.zip"])
def test_an_archive_that_shrank_gives_unreadable_images(kind, pack):
    path = pack(kind, {"1.png": b"x" * 5000, "2.png": b"y" * 5000})
    source = opened(path)
    os.truncate(path, 700)
    with pytest.raises(UnreadableImageError, match=r"the file ends before"):
        source.fetch(0)


def test_a_gzipped_tar_that_was_replaced_gives_unreadable_images(pack):
    path = pack("tar.gz", {"1.png": b"x" * 5000})
    source = opened(path)
    path.write_bytes(gzip.compress(b"y" * 600))
    with pytest.raises(UnreadableImageError, match="the archive has changed since"):
        source.fetch(0)


@pytest.mark.parametrize("kind", KINDS)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(edits=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=8))
def test_a_mutated_archive_gives_images_or_the_known_errors(kind, edits, pack):
    path = pack(kind, {"a/1.png": 1, "b/2.png": 2})
    data = bytearray(path.read_bytes())
    for place, value in edits:
        data[place % len(data)] = value
    path.write_bytes(data)
    try:
        source = opened(path)
    except InputError:
        return
    for picture in source.read(range(len(source))):
        assert isinstance(picture, np.ndarray | UnreadableImageError)


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
    step = checkpoints._Pass.step
    monkeypatch.setattr(checkpoints._Pass, "step", lambda self: steps.append(1) or step(self))
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


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_archive_that_is_gone_leaves_unreadable_images(kind, pack):
    path = pack(kind, {"1.png": 1})
    source = opened(path)
    path.unlink()
    (found,) = source.read([0])
    assert str(found) == f"{path.name}/1.png: cannot be read: No such file or directory."
