"""labels.csv in the folder of the images."""

import numpy as np
import pytest

from mixmood.core.errors import InputError, OptionError
from mixmood.data.images.labels import group_codes, group_names, needed_labels
from mixmood.data.open import open_pool

FILES = {"a/1.png": 1, "a/2.png": 2, "b/3.png": 3}


def classes_of(pool):
    return {pool.locate(k): pool.labels.names[pool.labels.codes[k]] for k in range(len(pool))}


@pytest.mark.parametrize(
    "text",
    [
        "path,label\na/1.png,rose\na/2.png,tulip\nb/3.png,rose\n",
        "file_name;class\n./a/1.png;rose\n2.png;tulip\n3.png;rose\n",
        "\ufeffid\tlabel\n1\trose\n2\ttulip\n3\trose\n",
        "label,path,other\nrose,a\\1.png,x\ntulip,a\\2.png,y\nrose,b\\3.png,z\nrose,gone.png,\n",
    ],
    ids=["paths", "file names", "without suffix", "windows"],
)
def test_labels_beside_the_images_are_found(tree, text):
    folder = tree(FILES)
    (folder / "labels.csv").write_text(text, encoding="utf-8")
    expected = {"a/1.png": "rose", "a/2.png": "tulip", "b/3.png": "rose"}
    assert classes_of(open_pool(folder)) == expected


def test_a_column_of_another_name_is_chosen_with_the_path(tree):
    folder = tree(FILES)
    (folder / "labels.csv").write_text("path,species,colour\n1,rose,red\n2,rose,blue\n3,rose,red\n")
    assert classes_of(open_pool(f"{folder}?label=colour"))["a/2.png"] == "blue"
    with pytest.raises(OptionError, match="Unknown label column 'color'. Did you mean 'colour'"):
        open_pool(f"{folder}?label=color", role="labelled set")


def test_a_column_that_no_table_has_is_an_error(tree):
    with pytest.raises(InputError, match="has no table of labels with a column 'species'"):
        open_pool(f"{tree(FILES)}?label=species", role="labelled set")


def test_labels_that_match_no_file_are_an_error_before_any_image_is_read(tree):
    folder = tree(FILES)
    (folder / "labels.csv").write_text("path,label\nimg/7.png,rose\n")
    message = r"none of its rows names an image of the folder; its first row names 'img/7.png'"
    with pytest.raises(InputError, match=message):
        open_pool(folder, role="labelled set")
    assert len(open_pool(folder)) == 3


def test_an_image_without_a_label_makes_the_set_unlabelled_and_is_named(tree):
    folder = tree(FILES)
    (folder / "labels.csv").write_text("path,label\n1,rose\n2,\n")
    pool = open_pool(folder)
    assert pool.labels is None
    assert "no label for 2 of 3 images, such as a/2.png: the set counts as un" in pool.notes[0]
    with pytest.raises(InputError, match="has no classes. labels.csv has no label for 2 of 3"):
        needed_labels(pool)


def test_a_name_that_several_images_have_must_be_a_path(tree):
    folder = tree({"a/1.png": 1, "b/1.png": 2})
    (folder / "labels.csv").write_text("path,label\n1.png,rose\n")
    with pytest.raises(InputError, match="line 2 names '1.png', and several images have this name"):
        _ = open_pool(folder).labels
    (folder / "labels.csv").write_text("path,label\na/1.png,rose\nb/1.png,tulip\n")
    assert classes_of(open_pool(folder)) == {"a/1.png": "rose", "b/1.png": "tulip"}


def test_a_table_without_classes_leaves_the_folders_to_speak(tree):
    folder = tree(FILES)
    (folder / "metadata.csv").write_text("file_name,text\n1.png,a caption\n")
    assert classes_of(open_pool(folder))["b/3.png"] == "b"


def test_a_row_without_a_name_is_not_that_of_a_file_without_suffix(tree):
    folder = tree({"1.png": 1})
    (folder / "IM1").write_bytes(b"\0" * 128 + b"DICM")
    (folder / "labels.csv").write_text("path,label\n,none\n1,rose\nIM1,tulip\n")
    assert classes_of(open_pool(folder)) == {"1.png": "rose", "IM1": "tulip"}
    (folder / "labels.csv").write_text("path,label\n1,rose\n,tulip\n")
    assert open_pool(folder).labels is None


def test_a_broken_table_is_named(tree):
    folder = tree(FILES)
    (folder / "labels.csv").write_text("path,label\n1,rose,more\n")
    with pytest.raises(InputError, match=r"Cannot read the labels in .*labels.csv: line 2 has 3"):
        _ = open_pool(folder).labels


def test_without_labels_all_ways_to_give_them_are_named(tree):
    with pytest.raises(InputError, match=r"The test set pool has no classes. Give .*labels.csv"):
        needed_labels(open_pool(tree({"1.png": 1})), "test set")


def test_a_manifest_takes_its_classes_from_the_column_asked_for(tree):
    folder = tree(FILES)
    (folder / "list.csv").write_text("path,species\na/1.png,rose\nb/3.png,tulip\n")
    assert open_pool(folder / "list.csv").labels is None
    pool = open_pool(f"{folder}/list.csv?label=species")
    assert classes_of(pool) == {"a/1.png": "rose", "b/3.png": "tulip"}


def test_a_file_without_columns_takes_none(tree):
    folder = tree(FILES)
    (folder / "list.txt").write_text("a/1.png\n")
    with pytest.raises(InputError, match=r"has no columns, so \?label=x cannot be used"):
        open_pool(f"{folder}/list.txt?label=x")


def test_a_parquet_file_takes_its_classes_from_the_column_asked_for(tmp_path, png):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"image": [png(1), png(2)], "species": ["rose", "tulip"]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert open_pool(tmp_path / "a.parquet").labels is None
    assert open_pool(f"{tmp_path}/a.parquet?label=species").labels.names == ("rose", "tulip")
    with pytest.raises(OptionError, match="Unknown label column 'specie'. Did you mean 'species'"):
        open_pool(f"{tmp_path}/a.parquet?label=specie")


def test_an_image_of_several_classes_makes_the_set_unlabelled_and_is_named(tree):
    folder = tree(FILES)
    text = "path,label\n1,rose\n2,rose\na/2.png,tulip\n2,rose\n3,tulip\n"
    (folder / "labels.csv").write_text(text)
    pool = open_pool(folder)
    assert pool.labels is None
    assert "several classes to 1 of 3 images, such as a/2.png: the set counts as" in pool.notes[0]
    (folder / "labels.csv").write_text("path,label\n1,rose\n2,rose\na/2.png,rose\n3,tulip\n")
    assert open_pool(folder).labels.counts() == {"rose": 2, "tulip": 1}


def test_the_message_names_the_ways_to_give_classes_to_an_array(tmp_path):
    np.save(tmp_path / "features.npy", np.zeros((4, 3)))
    with pytest.raises(InputError, match=r"has no classes\. .* an array labels in an \.npz file"):
        needed_labels(open_pool(tmp_path / "features.npy"))


def test_the_way_that_the_message_names_gives_classes(tmp_path):
    np.savez(tmp_path / "set.npz", features=np.eye(4), labels=np.array([1, 0, 1, 0]))
    assert needed_labels(open_pool(tmp_path / "set.npz")).counts() == {"0": 2, "1": 2}


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


@pytest.mark.parametrize("values", [["a", "", "b"], ["a", None, "b"], [7.0, float("nan"), 8.0]])
def test_images_without_a_group_are_not_one_group(values, in_folders, parquet):
    """All slices of unknown patients were held out together, without a word."""
    message = "'patient' of .* is blank for 1 image, which would be one group. Fill it in"
    with pytest.raises(InputError, match=message):
        group_names(parquet(patient=values), "patient")
    pandas = pytest.importorskip("pandas")
    paths = [str(in_folders / place) for place in ("p1/a.png", "p1/b.png", "p2/a.png")]
    table = pandas.DataFrame({"path": paths, "patient": values})
    with pytest.raises(InputError, match=message):
        group_names(open_pool(table), "patient")
    table.assign(path=["p1/a.png", "p1/b.png", "p2/a.png"]).to_csv(in_folders / "list.csv")
    with pytest.raises(InputError, match=message):
        group_names(open_pool(in_folders / "list.csv"), "patient")


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
