"""Files that no reader takes are counted and named, alike in every kind of pool of files."""

import io
import os
import re
import tarfile
import zipfile
from collections import Counter

import pytest

from mixmood.core.cache import FeatureCache
from mixmood.core.errors import InputError
from mixmood.data.images.names import MOST_KINDS, count_passed_over, passed_over_notes
from mixmood.data.open import open_pool

OTHERS = {
    "a/1.heic": b"x",
    "a/2.HEIC": b"x",
    "b/logo.svg": b"x",
    "b/more.zip": b"x",
    "b/labels.csv": b"x",
    "b/.hidden.heic": b"x",
    "__MACOSX/3.heic": b"x",
}
NOTE = (
    r"4 files were passed over: 2 \.heic \(convert it first, .* magick mogrify -format jpg "
    r"\*\.heic\), 1 \.svg \(a drawing: render it to PNG first\), 1 \.zip \(an archive inside a "
    r"pool is not opened: unpack it or give it as a pool\)\."
)


@pytest.fixture(params=["folder", "zip", "tar", "tar.gz", "url"])
def place(request, tmp_path, png):
    """The same files in every kind of pool."""
    files = {**OTHERS, "a/4.png": png(4)}
    target = tmp_path / f"crawl.{request.param}"
    if request.param == "zip":
        with zipfile.ZipFile(target, "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
    elif request.param.startswith("tar"):
        with tarfile.open(target, "w:gz" if request.param.endswith("gz") else "w") as archive:
            for name, data in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    else:
        for name, data in files.items():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    return f"file://{target}" if request.param == "url" else target


def test_a_pool_notes_the_files_that_no_reader_takes(place):
    (note,) = open_pool(place).notes
    assert re.fullmatch(NOTE, note)


def test_an_archive_found_in_the_cache_notes_the_same(tmp_path, png):
    path = tmp_path / "crawl.tar"
    with tarfile.open(path, "w") as archive:
        for name, data in {**OTHERS, "4.png": png(4)}.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    os.utime(path, (1e9, 1e9))
    with FeatureCache(tmp_path / "cache") as cache:
        first, second = (open_pool(path, cache=cache) for _ in range(2))
        assert cache.info().n_archives == 1
    assert first.notes == second.notes != ()


def test_a_folder_of_nothing_else_says_what_is_in_it(tmp_path):
    (tmp_path / "1.heic").write_bytes(b"x")
    with pytest.raises(InputError, match=r"No images .* 1 file was passed over: 1 \.heic \(conv"):
        open_pool(tmp_path)


def test_a_pool_of_images_and_texts_notes_nothing(tmp_path, png):
    for name in ("README", "labels.csv", "Thumbs.db", ".DS_Store", "classes.txt"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "1.png").write_bytes(png(1))
    assert open_pool(tmp_path).notes == ()


def test_a_hostile_number_of_kinds_stays_small():
    counts = Counter()
    for number in range(3 * MOST_KINDS):
        count_passed_over(counts, b"file.k%d" % number)
    assert len(counts) == MOST_KINDS
    (note,) = passed_over_notes(counts)
    assert note.endswith(f"and {MOST_KINDS - 5} other kinds.")
