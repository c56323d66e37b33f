"""What zip alone knows: backslashes, encryption, and members that are not what was promised."""

import struct
import zipfile

import pytest

from mixmood.core.errors import InputError, UnreadableImageError
from mixmood.data.readers.archives import ZipSource
from mixmood.data.readers.files import FolderSource


def promise(path, n_bytes):
    """Let the directory of a zip with one member tell another unpacked size."""
    data = path.read_bytes()
    size = data.index(b"PK\1\2") + 24
    path.write_bytes(data[:size] + n_bytes.to_bytes(4, "little") + data[size + 4 :])


def test_a_zip_packed_with_backslashes_has_the_same_folders(pack, opened, tree):
    source = opened(pack("zip", {"cat\\1.png": 1, "dog\\2.png": 2, "__MACOSX\\3.png": 3}))
    folder = FolderSource(tree({"cat/1.png": 1, "dog/2.png": 2}), "folder")
    assert source.labels.counts() == {"cat": 1, "dog": 1}
    assert source.fingerprint == folder.fingerprint


def test_a_member_larger_than_an_image_is_unreadable_before_it_is_unpacked(pack, tmp_path):
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("1.png", b"x")
    promise(path, 2**31)
    with pytest.raises(UnreadableImageError, match=r"bomb\.zip/1\.png: 2147483648 bytes is more"):
        ZipSource(path, "bomb").fetch(0)


def test_a_zip_member_that_unpacks_to_more_than_promised_is_unreadable(pack, opened):
    path = pack("zip", {"1.png": b"a" * 100_000})
    promise(path, 500)
    with pytest.raises(UnreadableImageError, match="does not unpack to the 500 bytes promised"):
        opened(path).fetch(0)


def test_a_stored_zip_member_of_another_size_is_unreadable(pack, opened):
    path = pack("stored.zip", {"1.png": b"a" * 100})
    promise(path, 50)
    with pytest.raises(UnreadableImageError, match="50 bytes promised, 100 stored"):
        opened(path).fetch(0)


def corrupted(path, find, shift=0):
    data = bytearray(path.read_bytes())
    data[data.index(find) + shift] ^= 0xFF
    path.write_bytes(data)


def test_a_zip_member_with_a_wrong_checksum_is_unreadable(pack, opened):
    path = pack("stored.zip", {"1.png": b"content of the file"})
    corrupted(path, b"content of")
    with pytest.raises(UnreadableImageError, match=r"1\.png: .* its checksum is wrong"):
        opened(path).fetch(0)


def test_a_zip_member_with_broken_compression_is_unreadable(pack, opened):
    path = pack("zip", {"1.png": b"content " * 30})
    corrupted(path, b"1.png", 5)
    with pytest.raises(UnreadableImageError, match="cannot be unpacked: broken compressed data"):
        opened(path).fetch(0)


def test_a_zip_member_that_is_not_at_its_place_is_unreadable(pack, opened):
    path = pack("zip", {"1.png": 1})
    corrupted(path, b"PK\3\4")
    with pytest.raises(UnreadableImageError, match="no member of the archive starts at its offset"):
        opened(path).fetch(0)


def test_an_encrypted_zip_member_is_unreadable(pack, opened):
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


def make(path, comment=b"", **options):
    with zipfile.ZipFile(path, "w", **options) as archive:
        archive.comment = comment
        archive.writestr("a/1.png", b"one" * 50)
        archive.writestr("b/größe.png", b"two" * 50)
        info = zipfile.ZipInfo("c/3.png")
        info.comment, info.extra = b"note", struct.pack("<2H4s", 0x7777, 4, b"more")
        archive.writestr(info, b"three")
    return path


@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("before", [b"", b"#!/bin/sh\n" * 100])
def test_members_are_found_behind_a_program_and_before_a_comment(how, before, tmp_path):
    path = make(tmp_path / "a.zip", b"x" * 60_000, compression=how)
    path.write_bytes(before + path.read_bytes())
    source = ZipSource(path, "a")
    content = {source.locate(index): source.fetch(index) for index in range(3)}
    assert content == {
        "a.zip/a/1.png": b"one" * 50,
        "a.zip/c/3.png": b"three",
        "a.zip/b/größe.png": b"two" * 50,
    }


def test_old_names_are_read_in_their_code_page(tmp_path):
    path = make(tmp_path / "a.zip")
    data = bytearray(path.read_bytes().replace("größe".encode(), b"gr\x94\xe1e__"))
    data[data.index(b"PK\1\2", data.index(b"PK\1\2") + 1) + 9] &= 0xF7  # The mark of UTF-8.
    path.write_bytes(data)
    assert ZipSource(path, "a").locate(2) == "a.zip/b/größe__.png"


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\5\6", b"PK\5\6" + b"\xff" * 18])
def test_a_file_without_a_table_is_refused(content, tmp_path):
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(InputError, match="Cannot open .* as a zip archive"):
        ZipSource(tmp_path / "a.zip", "a")


def test_a_damaged_table_is_refused(tmp_path):
    path = make(tmp_path / "a.zip")
    data = path.read_bytes()
    at = data.rindex(b"PK\1\2")
    path.write_bytes(data[:at] + b"XXXX" + data[at + 4 :])
    with pytest.raises(InputError, match="Cannot open .* as a zip archive"):
        ZipSource(path, "a")
