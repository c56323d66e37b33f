"""A part of a pool, opened from the list that kept it."""

import csv
import zipfile

import numpy as np
import pytest
from PIL import Image

from mixmood.core.errors import InputError
from mixmood.core.files.spreadsheet import csv_text
from mixmood.data.pools.kept import TEXT_HEAD, pool_word
from mixmood.data.pools.open import open_pool

HEAD = ("path", "pool", "index", "score", "keep")


def image(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((8, 8, 3), value, np.uint8)).save(path)


@pytest.fixture
def crawl(tmp_path):
    for number, name in enumerate(["a.png", "=b.png", 'c,"d.png', "e\rf.png"]):
        image(tmp_path / "crawl" / name, 10 * number)
    return open_pool(tmp_path / "crawl")


def write_csv(path, pool, word, kept):
    rows = [
        (pool.locate(index), word, index, 0.5, int(index in kept)) for index in range(len(pool))
    ]
    path.write_text(csv_text(HEAD, rows), newline="")


def test_rows_with_keep_0_are_left_out_and_odd_names_come_back(crawl, tmp_path):
    write_csv(tmp_path / "kept.csv", crawl, "crawl", {0, 2, 3})
    kept = open_pool(tmp_path / "kept.csv")
    assert [kept.locate(i) for i in range(len(kept))] == [crawl.locate(i) for i in (0, 2, 3)]
    assert kept.fetch(1) == crawl.fetch(2)
    assert kept.fingerprint != crawl.fingerprint


def test_a_text_list_finds_its_images_by_name(crawl, tmp_path):
    names = [crawl.locate(2), crawl.locate(0)]
    (tmp_path / "kept.txt").write_text("\n".join([f"{TEXT_HEAD}crawl", *names, ""]), newline="")
    kept = open_pool(tmp_path / "kept.txt")
    assert [kept.locate(0), kept.locate(1)] == names
    (tmp_path / "kept.txt").write_text(f"{TEXT_HEAD}crawl\nzebra.png\n")
    with pytest.raises(InputError, match="'zebra.png' is gone. Filter the pool again"):
        open_pool(tmp_path / "kept.txt")


def test_members_of_an_archive_and_rows_of_an_array_are_found_again(crawl, tmp_path):
    with zipfile.ZipFile(tmp_path / "crawl.zip", "w") as file:
        for name in ("x/1.png", "y/2.png", "y/3.png"):
            file.writestr(name, crawl.fetch(0))
    archive = open_pool(tmp_path / "crawl.zip")
    write_csv(tmp_path / "kept.csv", archive, "crawl.zip", {1, 2})
    kept = open_pool(tmp_path / "kept.csv")
    assert [kept.locate(i) for i in range(2)] == ["crawl.zip/y/2.png", "crawl.zip/y/3.png"]
    assert kept.labels.counts() == {"x": 0, "y": 2}
    np.save(tmp_path / "rows.npy", np.arange(12, dtype=np.float32).reshape(4, 3))
    rows = open_pool(tmp_path / "rows.npy")
    (tmp_path / "rows.csv").write_text(
        csv_text(HEAD, [(f"rows[{i}]", "rows.npy", i, 0.1, i % 2) for i in range(4)])
    )
    part = open_pool(tmp_path / "rows.csv")
    assert part.features(np.array([1])).tolist() == rows.features(np.array([3])).tolist()


def test_a_pool_that_changed_is_refused(crawl, tmp_path):
    write_csv(tmp_path / "kept.csv", crawl, "crawl", {0})
    image(tmp_path / "crawl" / "0.png", 3)
    with pytest.raises(InputError, match="does not fit its pool any more: image 0 was"):
        open_pool(tmp_path / "kept.csv")


def test_a_list_that_keeps_nothing_or_names_two_pools_is_refused(crawl, tmp_path):
    write_csv(tmp_path / "kept.csv", crawl, "crawl", set())
    with pytest.raises(InputError, match="keeps no image. Filter again with a larger --keep"):
        open_pool(tmp_path / "kept.csv")
    rows = [("a.png", "crawl", 0, 1.0, 1), ("b.png", "other", 0, 1.0, 1)]
    (tmp_path / "two.csv").write_text(csv_text(HEAD, rows))
    with pytest.raises(InputError, match="names two pools, crawl and other"):
        open_pool(tmp_path / "two.csv")


def test_a_damaged_list_is_refused(tmp_path):
    (tmp_path / "kept.csv").write_text("path,pool,index,keep\na.png,crawl\n")
    with pytest.raises(InputError, match="is no list of mixmood filter: the row of 'a.png'"):
        open_pool(tmp_path / "kept.csv")
    (tmp_path / "kept.csv").write_text("path,pool,index,keep\na.png,crawl,x,1\n")
    with pytest.raises(InputError, match="invalid literal"):
        open_pool(tmp_path / "kept.csv")


def test_the_pool_is_named_relative_to_a_list_above_it(tmp_path):
    assert pool_word(str(tmp_path / "a" / "crawl"), tmp_path / "kept.csv") == "a/crawl"
    assert pool_word(str(tmp_path / "crawl"), tmp_path / "out" / "kept.csv") == str(
        tmp_path / "crawl"
    )
    assert pool_word("noise:gaussian", tmp_path / "kept.csv") == "noise:gaussian"


def test_csv_rows_round_trip(crawl, tmp_path):
    write_csv(tmp_path / "kept.csv", crawl, "crawl", {0})
    with (tmp_path / "kept.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 4
