"""The table of contents of a zip, against the standard library's reading of it."""

import struct
import zipfile

import pytest

from mixmood.data.readers.zip import read_zip_members


def check_agrees_with_zipfile(path):
    with zipfile.ZipFile(path) as archive:
        expected = [
            (i.filename, i.header_offset, i.compress_size, i.file_size, i.CRC, i.compress_type)
            for i in archive.infolist()
        ]
    found = [(member.name.decode(), *member[1:-1]) for member in read_zip_members(path)]
    assert found == expected
    assert expected


def make(path, comment=b"", **options):
    with zipfile.ZipFile(path, "w", **options) as archive:
        archive.comment = comment
        archive.writestr("a/1.png", b"one" * 50)
        archive.writestr("b/größe.png", b"two" * 50)
        info = zipfile.ZipInfo("c/3.png")
        info.comment, info.extra = b"note", struct.pack("<2H4s", 0x7777, 4, b"more")
        archive.writestr(info, b"three")
    return path


@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
@pytest.mark.parametrize("comment", [b"", b"x" * 60_000])
def test_members_are_as_the_standard_library_reads_them(how, comment, tmp_path):
    check_agrees_with_zipfile(make(tmp_path / "a.zip", comment, compression=how))


def test_something_in_front_of_the_archive_shifts_it(tmp_path):
    path = make(tmp_path / "a.zip")
    path.write_bytes(b"#!/bin/sh\n" * 100 + path.read_bytes())
    check_agrees_with_zipfile(path)


def test_sizes_beyond_32_bits_are_read_from_the_extra_field(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        with archive.open("1.png", "w", force_zip64=True) as file:
            file.write(b"x" * 100)
        # As if it began behind four gigabytes: the table then has to use its wide form.
        archive.filelist[0].header_offset = 5 * 2**30
    data = path.read_bytes()
    (member,) = read_zip_members(path)
    assert (member.size, member.packed) == (100, 100)
    assert member.offset == 5 * 2**30
    assert b"PK\1\2" in data


@pytest.mark.slow
def test_more_members_than_16_bits_count(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for index in range(65_600):
            archive.writestr(zipfile.ZipInfo(f"{index}.png"), b"")
    assert sum(1 for _ in read_zip_members(path)) == 65_600


def test_old_names_are_read_in_their_code_page(tmp_path):
    path = tmp_path / "a.zip"
    make(path)
    data = path.read_bytes().replace("größe".encode(), b"gr\x94\xe1e__").replace(b"\0\x08", b"\0\0")
    path.write_bytes(data)
    assert b"b/gr\xc3\xb6\xc3\x9fe__.png" in [member.name for member in read_zip_members(path)]


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\5\6", b"PK\5\6" + b"\xff" * 18])
def test_a_file_without_a_table_is_refused(content, tmp_path):
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(ValueError, match="table of contents"):
        list(read_zip_members(tmp_path / "a.zip"))


def test_a_damaged_table_is_refused(tmp_path):
    path = make(tmp_path / "a.zip")
    data = path.read_bytes()
    at = data.rindex(b"PK\1\2")
    path.write_bytes(data[:at] + b"XXXX" + data[at + 4 :])
    with pytest.raises(ValueError, match="its table of contents is damaged"):
        list(read_zip_members(path))
    path.write_bytes(data[: at + 28] + b"\xff\xff" + data[at + 30 :])
    with pytest.raises(ValueError, match="its table of contents is damaged"):
        list(read_zip_members(path))


def test_a_wide_table_that_is_elsewhere_is_refused(tmp_path):
    path = make(tmp_path / "a.zip")
    data = path.read_bytes()
    at = data.rindex(b"PK\5\6")
    for place in (7, 2**60):
        locator = struct.pack("<4sLQL", b"PK\6\7", 0, place, 1)
        path.write_bytes(data[:at] + locator + data[at:])
        with pytest.raises(ValueError, match="table of contents is not where it should be"):
            list(read_zip_members(path))
