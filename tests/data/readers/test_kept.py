"""A part of a pool, opened from the list that kept it."""

import csv
import sys
import zipfile

import numpy as np
import pytest
from PIL import Image

from mixmood.core.errors import InputError, MissingExtraError
from mixmood.core.files import csv_text
from mixmood.data.open import open_pool
from mixmood.data.readers.kept import (
    TEXT_HEAD,
    chain_of_lists,
    open_kept,
    parts_of,
    pool_reference,
)

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


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\ufeff" + text,  # as spreadsheets save "CSV UTF-8"
        lambda text: text.replace(",", ";"),
        lambda text: '"path","pool","index","score","keep"' + text[text.index("\n") :],
        lambda text: text.replace(",1\n", ",True\n").replace(",0\n", ",False\n"),
        lambda text: text.replace(",1\n", ",1.0\n").replace(",0\n", ",0.0\n"),
    ],
    ids=["byte order mark", "semicolons", "quotes", "bools", "floats"],
)
def test_a_list_that_another_program_saved_keeps_the_same_images(change, tmp_path):
    """Beside its images it was taken for a list of paths, and images with keep 0 were used."""
    for number, name in enumerate(["a.png", "b.png", "c.png"]):
        image(tmp_path / name, 10 * number)
    write_csv(tmp_path / "kept.csv", open_pool(tmp_path), ".", {0, 2})
    text = (tmp_path / "kept.csv").read_text()
    (tmp_path / "kept.csv").write_text(change(text), newline="")
    kept = open_pool(tmp_path / "kept.csv")
    assert [kept.locate(i) for i in range(len(kept))] == ["a.png", "c.png"]


def test_another_word_than_1_or_0_in_the_column_keep_is_refused(tmp_path):
    (tmp_path / "kept.csv").write_text("path,pool,index,keep\na.png,crawl,0,perhaps\n")
    with pytest.raises(InputError, match="line 2 has 'perhaps' in the column keep, not 1 or 0"):
        open_pool(tmp_path / "kept.csv")


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
    with pytest.raises(InputError, match="does not fit its pool any more: .a.png. was image 0"):
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
    with pytest.raises(InputError, match="is not a list of mixmood filter: line 2 has 2 fields"):
        open_pool(tmp_path / "kept.csv")
    (tmp_path / "kept.csv").write_text("path,pool,index,keep\na.png,crawl,x,1\n")
    with pytest.raises(InputError, match="invalid literal .* Filter the pool again"):
        open_pool(tmp_path / "kept.csv")
    (tmp_path / "kept.csv").write_text(f"path,pool,index,keep\na.png,crawl,{10**30},1\n")
    with pytest.raises(InputError, match="is not a list of mixmood filter: Python int too large"):
        open_pool(tmp_path / "kept.csv")


def write_parquet(path, indices):
    import pyarrow
    from pyarrow import parquet

    columns = {"path": ["a.png"], "pool": ["crawl"], "index": indices, "keep": [True]}
    parquet.write_table(pyarrow.table(columns), path)


def test_a_parquet_list_without_an_index_is_refused(tmp_path):
    write_parquet(tmp_path / "kept.parquet", [None])
    with pytest.raises(InputError, match="is not a list of mixmood filter: int"):
        open_pool(tmp_path / "kept.parquet")


def test_without_pyarrow_a_parquet_file_names_the_extra(tmp_path, monkeypatch):
    write_parquet(tmp_path / "kept.parquet", [0])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r"Reading Parquet .*mixmood\[hub\]"):
        open_pool(tmp_path / "kept.parquet")


def test_a_file_that_cannot_be_read_is_not_a_list(tmp_path):
    """It is then opened as another kind of pool, which says what is wrong."""
    assert open_kept(tmp_path / "gone.txt", "gone", open_pool) is None


@pytest.mark.parametrize("pool", ["kept.csv", "kept.csv?frames=each"])
def test_a_list_of_itself_is_refused(pool, tmp_path):
    (tmp_path / "kept.csv").write_text(f"path,pool,index,keep\na.png,{pool},0,1\n")
    with pytest.raises(InputError, match="kept.csv is a list of itself"):
        open_pool(tmp_path / "kept.csv")


def test_the_chain_ends_at_a_list_that_is_damaged_or_cannot_be_a_path(tmp_path):
    outer, inner = tmp_path / "outer.csv", tmp_path / "inner.csv"
    outer.write_text("path,pool,index,keep\na.png,inner.csv?frames=each,0,1\n")
    inner.write_text("path,pool,index,keep\na.png,crawl,0,x\n")
    assert chain_of_lists(outer) == [outer.resolve(), inner.resolve()]
    with pytest.raises(InputError, match="inner.csv is not a list of mixmood filter"):
        open_pool(outer)
    inner.write_text(f"path,pool,index,keep\na.png,{'x' * 300}.csv,0,1\n")
    assert chain_of_lists(outer) == [outer.resolve(), inner.resolve()]
    inner.write_text("path,pool,index,keep\na.png,x\0.csv,0,1\n")
    assert chain_of_lists(outer) == [outer.resolve(), inner.resolve()]


def test_the_pool_is_named_relative_to_a_list_above_it(tmp_path):
    assert pool_reference(str(tmp_path / "a" / "crawl"), tmp_path / "kept.csv") == "a/crawl"
    assert pool_reference(str(tmp_path / "crawl"), tmp_path / "out" / "kept.csv") == str(
        tmp_path / "crawl"
    )
    assert pool_reference("noise:gaussian", tmp_path / "kept.csv") == "noise:gaussian"


@pytest.mark.parametrize(("pool", "out"), [("a\nb", "kept.txt"), ("a\udcff", "kept.csv")])
def test_a_pool_that_a_list_cannot_name_is_refused(pool, out, tmp_path):
    message = "A list cannot name the pool .* line break, or is not UTF-8 text. Rename the folder"
    with pytest.raises(InputError, match=message):
        pool_reference(str(tmp_path / pool), tmp_path / out)


def test_csv_rows_round_trip(crawl, tmp_path):
    write_csv(tmp_path / "kept.csv", crawl, "crawl", {0})
    with (tmp_path / "kept.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 4


def test_a_list_has_the_columns_of_its_pool(tmp_path):
    for name in "abc":
        image(tmp_path / f"{name}.png", 10)
    (tmp_path / "all.csv").write_text("path,patient\na.png,7\nb.png,8\nc.png,9\n")
    write_csv(tmp_path / "kept.csv", open_pool(tmp_path / "all.csv"), "all.csv", {0, 2})
    assert open_pool(tmp_path / "kept.csv").column("patient") == ["7", "9"]


def test_some_images_of_several_pools_are_read_from_their_own(tmp_path):
    pools = [open_pool(np.full((5, 8, 8), 100 * k, np.uint8) + k) for k in range(2)]
    both = parts_of([(pools[0], np.array([4, 1])), (pools[1], np.array([3]))], "both")
    assert [both.fetch(row)[0, 0] for row in range(3)] == [0, 0, 101]
    assert sorted(both.reading_order(np.array([2, 0, 1])).tolist()) == [0, 1, 2]
    rows = [open_pool(np.arange(12.0).reshape(6, 2) + 100 * k) for k in range(2)]
    joined = parts_of([(rows[0], np.array([5, 0])), (rows[1], np.array([1, 2]))], "joined")
    assert joined.features(np.array([3, 0, 2, 1]))[:, 0].tolist() == [104, 10, 102, 0]
    assert joined.features(np.array([], int)).shape == (0, 2)
