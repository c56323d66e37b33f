"""The group of each image: a column of the pool's table, or a part of its path."""

import pytest

from mixmood.core.errors import InputError, OptionError
from mixmood.data.images.labels import group_codes, group_names
from mixmood.data.open import open_pool


@pytest.fixture
def in_folders(tmp_path, png):
    for name in ("p1/a.png", "p1/b.png", "p2/a.png"):
        path = tmp_path / "scans" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(len(name)))
    return tmp_path / "scans"


@pytest.fixture
def parquet(tmp_path, png):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

    def write(**columns):
        images = [{"bytes": png(value), "path": None} for value in range(3)]
        pq.write_table(pa.table({"image": images, **columns}), tmp_path / "scans.parquet")
        return open_pool(tmp_path / "scans.parquet")

    return write


def test_a_column_of_a_list_of_paths(in_folders):
    table = in_folders / "list.csv"
    table.write_text("path,Patient\np1/a.png,7\np1/b.png,7\np2/a.png,8\n")
    assert group_names(open_pool(table), "patient") == ["7", "7", "8"]


def test_a_column_of_a_parquet_table(parquet):
    pool = parquet(Patient=[7, 7, 8], site=["north", "south", "north"])
    assert group_names(pool, "patient") == ["7", "7", "8"]
    assert group_names(pool, "site") == ["north", "south", "north"]


@pytest.mark.parametrize("name", ["image", "boxes", "nowhere"])
def test_images_and_nested_values_of_a_parquet_table_are_no_groups(parquet, name):
    pool = parquet(boxes=[[1, 2], [3], []])
    with pytest.raises(InputError, match=rf"groups '{name}' is not a column of scans and is not"):
        group_names(pool, name)


def test_a_column_that_cannot_be_read_is_named(parquet, tmp_path):
    pool = parquet(patient=[7, 7, 8])
    (tmp_path / "scans.parquet").unlink()
    with pytest.raises(InputError, match="scans: the column 'patient' cannot be read: "):
        group_names(pool, "patient")


def test_a_part_of_the_path(in_folders):
    pool = open_pool(in_folders)
    where = [pool.locate(index) for index in range(len(pool))]
    assert group_names(pool, r"p(\d)") == [place[1] for place in where]
    assert group_names(pool, r"p\d") == [place[:2] for place in where]


def test_a_pattern_that_is_none_is_refused(in_folders):
    with pytest.raises(OptionError, match=r"groups must be a column of scans or .*got 'p\('"):
        group_names(open_pool(in_folders), "p(")


def test_groups_have_numbers():
    assert group_codes(["b", "a", "b"]).tolist() == [1, 0, 1]
