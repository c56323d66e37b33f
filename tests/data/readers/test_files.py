"""A folder is listed, not read."""

import os
import sys

import pytest

from mixmood.core.errors import InputError, UnreadableImageError
from mixmood.data.images.labels import needed_labels
from mixmood.data.open import open_pool
from mixmood.data.readers.files import FolderSource, ManifestSource


def names_of(source):
    return [source.locate(index) for index in range(len(source))]


def test_images_are_found_at_every_depth(tree, values_of):
    source = FolderSource(tree({"1.png": 1, "a/2.PNG": 2, "a/b/c/3.png": 3}), "pool")
    assert names_of(source) == ["1.png", "a/2.PNG", "a/b/c/3.png"]
    assert values_of(source) == [1, 2, 3]
    assert source.name == "pool"


def test_files_of_operating_systems_and_hidden_ones_are_left_out(tree):
    files = {
        **{"1.png": 1, "Thumbs.db": b"x", "desktop.ini": b"x", ".DS_Store": b"x", "._1.png": b"x"},
        **{"__MACOSX/1.png": 1, ".hidden/1.png": 1, "notes.txt": b"x", "@eaDir/1.png": 1},
    }
    assert names_of(FolderSource(tree(files), "pool")) == ["1.png"]


def test_class_folders_give_labels(tree):
    source = FolderSource(tree({"cat/1.png": 1, "dog/1.png": 2, "dog/2.png": 3}), "pool")
    assert source.labels.counts() == {"cat": 1, "dog": 2}
    assert source.labels is source.labels


def test_a_folder_without_class_folders_has_no_labels(tree):
    assert FolderSource(tree({"1.png": 1}), "pool").labels is None


def test_images_beside_the_class_folders_are_named_as_the_reason_for_no_labels(tree):
    source = FolderSource(tree({"cat/1.png": 1, "dog/1.png": 2, "3.png": 3}), "pool")
    assert source.labels is None
    assert source.why_unlabelled.startswith("1 of 3 images is in no class folder, such as 3.png:")
    with pytest.raises(
        InputError, match=r"does not have two classes\. 1 of 3 images is in no class folder"
    ):
        needed_labels(source)


def test_a_single_class_folder_is_said_to_be_one_class(tree):
    source = FolderSource(tree({"cat/1.png": 1, "cat/2.png": 2}), "pool")
    with pytest.raises(InputError, match="All images are in one folder, 'cat': as a class it is"):
        needed_labels(source)


def test_the_columns_of_a_table_without_classes_are_named(tree):
    root = tree({"1.png": 1, "2.png": 2, "labels.csv": b"path,animal,age\n1.png,cat,3\n"})
    found = "has the columns path, animal, age, and none of them is called label, "
    with pytest.raises(InputError, match=f"labels.csv {found}"):
        needed_labels(FolderSource(root, "pool"))
    (root / "labels.csv").rename(root / "list.csv")
    with pytest.raises(InputError, match=f"list.csv {found}"):
        needed_labels(ManifestSource(root / "list.csv", "pool"))


@pytest.mark.parametrize("files", [("1.png",), ("a/1.png", "2.png"), ("a/1.png", "b/1.png")])
def test_sets_without_class_folders_and_labelled_ones_need_no_reason(tree, files):
    assert FolderSource(tree(dict.fromkeys(files, 1)), "pool").why_unlabelled == ""


def test_opening_reads_no_image(tree, monkeypatch):
    root = tree({"1.png": b"not an image", "a/2.png": b""})
    monkeypatch.setattr(os, "open", None)
    source = FolderSource(root, "pool")
    assert len(source) == 2
    assert len(source.fingerprint) == 64


def test_broken_images_come_as_errors_in_their_place(tree):
    source = FolderSource(tree({"1.png": 1, "2.png": b"no image", "3.png": 3}), "pool")
    first, second, third = source.read([0, 1, 2])
    assert first[0, 0, 0] == 1
    assert third[0, 0, 0] == 3
    assert isinstance(second, UnreadableImageError)
    assert str(second).startswith("2.png: cannot be decoded: ")


def test_a_file_that_vanished_is_unreadable(tree):
    root = tree({"1.png": 1, "2.png": 2})
    source = FolderSource(root, "pool")
    (root / "1.png").unlink()
    with pytest.raises(UnreadableImageError, match=r"1\.png: cannot be read: No such file"):
        source.fetch(0)
    assert len(source) == 2


def test_a_file_that_became_a_folder_is_unreadable(tree):
    root = tree({"1.png": 1})
    source = FolderSource(root, "pool")
    (root / "1.png").unlink()
    (root / "1.png").mkdir()
    with pytest.raises(UnreadableImageError, match=r"1\.png: (not a plain file|cannot be read)"):
        source.fetch(0)


@pytest.mark.skipif(sys.platform == "win32", reason="no FIFOs")
def test_a_fifo_neither_counts_nor_blocks(tree):
    root = tree({"1.png": 1})
    os.mkfifo(root / "2.png")
    source = FolderSource(root, "pool")
    assert names_of(source) == ["1.png"]
    (root / "1.png").unlink()
    os.mkfifo(root / "1.png")
    with pytest.raises(UnreadableImageError, match=r"1\.png: not a plain file"):
        source.fetch(0)


def test_a_huge_file_is_refused_before_it_is_read(tree):
    root = tree({"1.png": 1})
    with (root / "1.png").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(UnreadableImageError, match=r"1\.png: 1099511627776 bytes is more than"):
        FolderSource(root, "pool").fetch(0)


def test_links_count_only_inside_the_pool(tree, values_of):
    root = tree({"all/1.png": 1})
    secret = tree({"2.png": 2}, root="elsewhere")
    (root / "in.png").symlink_to("all/1.png")
    (root / "out.png").symlink_to(secret / "2.png")
    (root / "gone.png").symlink_to("nowhere.png")
    (root / "folder").symlink_to(secret)
    (root / "all" / "loop").symlink_to(root)
    source = FolderSource(root, "pool")
    assert names_of(source) == ["in.png", "all/1.png"]
    assert values_of(source) == [1, 1]
    assert source.notes == (
        "2 links to files or folders elsewhere were not followed: copy the images into the "
        "folder, or make hard links.",
    )


def test_the_pool_itself_may_be_a_link(tree, tmp_path):
    (tmp_path / "link").symlink_to(tree({"1.png": 1}))
    assert len(FolderSource(tmp_path / "link", "pool")) == 1


def test_the_fingerprint_is_that_of_the_list(tree, tmp_path):
    files = {"a/1.png": 1, "b/2.png": 2}
    first = FolderSource(tree(files), "pool").fingerprint
    assert FolderSource(tree(files, root="copy"), "other").fingerprint == first
    (tmp_path / "copy" / "b" / "2.png").rename(tmp_path / "copy" / "b" / "3.png")
    assert FolderSource(tmp_path / "copy", "other").fingerprint != first


def test_names_that_are_no_text_can_be_opened(tree, png):
    root = tree({"1.png": 1})
    with open(os.fsencode(root) + b"/caf\xe9.png", "wb") as file:  # noqa: PTH123
        file.write(png(9))
    source = FolderSource(root, "pool")
    assert names_of(source) == ["1.png", "caf\\xe9.png"]
    assert next(source.read([1]))[0, 0, 0] == 9


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"No images in the folder .*: found 0 files"):
        FolderSource(tmp_path, "pool")


def test_a_folder_without_images_is_refused(tree):
    with pytest.raises(InputError, match=r"found 2 files below it\. Give a folder with"):
        FolderSource(tree({"a.txt": b"x", "b/c.md": b"y"}), "pool")


def test_a_folder_of_links_to_elsewhere_is_refused_with_the_reason(tree):
    outside = tree({"1.png": 1}, root="elsewhere")
    root = tree({"notes.txt": b""})
    (root / "1.png").symlink_to(outside / "1.png")
    with pytest.raises(InputError, match=r"2 files below it, including 1 link to files elsewhere"):
        FolderSource(root, "pool")


@pytest.fixture
def listing_fails(monkeypatch):
    """Makes the listing of the folder `a` fail."""
    scandir = os.scandir

    def make(error):
        def failing(path):
            if path.endswith(b"a/"):
                raise error
            return scandir(path)

        monkeypatch.setattr(os, "scandir", failing)

    return make


def test_a_folder_that_cannot_be_listed_is_refused(tree, listing_fails):
    root = tree({"a/1.png": 1})
    listing_fails(PermissionError(13, "Permission denied"))
    with pytest.raises(InputError, match=r"Cannot list the folder .*a/: Permission denied"):
        FolderSource(root, "pool")


def test_a_folder_that_vanishes_while_listed_has_no_images(tree, listing_fails):
    root = tree({"a/1.png": 1, "2.png": 2})
    listing_fails(FileNotFoundError(2, "No such file or directory"))
    assert names_of(FolderSource(root, "pool")) == ["2.png"]


@pytest.fixture
def listed(tree):
    """Makes a pool from a list of this name and text, beside images of values 1, 2 and 3."""

    def make(text, name="list.txt"):
        root = tree({"1.png": 1, "sub/2.png": 2, "sub/a b,c.png": 3})
        (root / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return ManifestSource(root / name, "pool")

    return make


def test_a_text_has_one_path_a_line_in_its_own_order(listed, values_of):
    pool = listed("# three images\nsub/2.png\n\n  sub/a b,c.png  \r\n./1.png")
    assert values_of(pool) == [2, 3, 1]
    assert pool.locate(0) == "sub/2.png"
    assert pool.labels is None


@pytest.mark.parametrize("blank", ["", "  "])
def test_a_list_in_which_a_label_is_blank_counts_as_unlabelled(blank, listed):
    """As in Parquet and on the hub: an image without a label is of no class called ''."""
    pool = listed(f"path,label\nsub/2.png,dog\n1.png,{blank}\n", "list.csv")
    assert len(pool) == 2
    assert pool.labels is None
    assert pool.why_unlabelled.startswith("1 of its 2 labels are blank")
    assert pool.why_unlabelled.endswith("The first is that of 1.png.")


@pytest.mark.parametrize("head", ["path,label", "label,file", "\ufeffPath,Class", "image, target "])
def test_a_csv_has_a_column_of_paths_and_perhaps_one_of_labels(head, listed, values_of):
    row = (
        ['"sub/a b,c.png"', "dog"] if head.split(",")[0] != "label" else ["dog", '"sub/a b,c.png"']
    )
    second = ["1.png", "cat"] if head.split(",")[0] != "label" else ["cat", "1.png"]
    pool = listed(f"{head}\n{','.join(row)}\n{','.join(second)}\n\n", "list.csv")
    assert values_of(pool) == [3, 1]
    assert pool.labels.counts() == {"cat": 1, "dog": 1}
    assert [pool.labels.names[code] for code in pool.labels.codes] == ["dog", "cat"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("path,label\n1.png,dog\n".encode("utf-16"), "it is text in UTF-16: save it in UTF-8"),
        (b"path,label\r1.png,dog\r", "its lines end as on old Macintoshes"),
    ],
)
def test_a_list_as_old_spreadsheets_save_it_is_refused_with_the_reason(text, why, listed):
    with pytest.raises(InputError, match=why):
        listed(text, "list.csv")


def test_a_tsv_has_tabs(listed, values_of):
    pool = listed("id\tpath\n9\tsub/a b,c.png\n", "list.tsv")
    assert values_of(pool) == [3]
    assert pool.labels is None


def test_a_list_written_on_windows_is_the_same_list(listed, values_of):
    pool, same = listed("sub\\2.png\r\n.\\1.png"), listed("sub/2.png\n./1.png")
    assert values_of(pool) == [2, 1]
    assert pool.fingerprint == same.fingerprint


def test_a_file_of_the_list_that_is_missing_is_an_unreadable_image(listed):
    missing, found = listed("gone.png\n1.png").read([0, 1])
    assert str(missing) == "gone.png: cannot be read: No such file or directory."
    assert found[0, 0, 0] == 1


def test_an_image_may_come_twice(listed, values_of):
    assert values_of(listed("1.png\n1.png")) == [1, 1]


def test_the_fingerprint_is_that_of_the_paths(listed):
    assert listed("1.png\nsub/2.png").fingerprint == listed("#\n1.png\n\nsub/2.png\n").fingerprint
    assert listed("1.png\nsub/2.png").fingerprint != listed("sub/2.png\n1.png").fingerprint


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../secret.png", "..\\secret.png", "sub/../../secret.png", "..", "sub/../.."],
)
@pytest.mark.parametrize("name", ["list.txt", "list.csv"])
def test_a_path_that_leaves_the_folder_is_refused_when_the_list_is_opened(path, name, listed):
    lines = f"1.png\n{path}" if name == "list.txt" else f"path\n{path}"
    with pytest.raises(InputError, match=r"line 2: the path .* leaves the folder of the list. Put"):
        listed(lines, name)


def test_dots_that_stay_inside_are_fine(listed, values_of):
    assert values_of(listed("sub/../1.png")) == [1]


def test_a_link_that_leaves_the_folder_is_unreadable(listed, tree):
    secret = tree({"secret.png": 9}, root="elsewhere") / "secret.png"
    pool = listed("1.png\nlink.png")
    (pool._path.parent / "link.png").symlink_to(secret)
    with pytest.raises(UnreadableImageError, match=r"link\.png: a link that leaves the folder"):
        pool.fetch(1)


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        (
            "Dear reader,\nthis is a letter.\n",
            "a.txt",
            r"none of its first 2 lines names a file besi",
        ),
        ("", "a.txt", r"it names no images"),
        ("# only this\n", "a.txt", r"it names no images"),
        ("path\n", "a.csv", r"it names no images"),
        ("", "a.csv", r"its first line must name a column path or file"),
        ("a,b\n1,2\n", "a.csv", r"its first line must name a column path or file"),
        ("path,label\n1.png\n", "a.csv", r"line 2 has 1 fields, and the header has 2"),
        ("path\n  \n", "a.csv", r"line 2 has no path"),
        (b"\x00\x01\x02", "a.txt", r"line 1 has no path"),
        ("x" * 70_000, "a.txt", r"a line is longer than 65536 bytes"),
        ('path\n"1.png', "a.csv", r"is not a list of images: unexpected end of data"),
    ],
)
def test_a_text_that_is_no_list_of_images_is_refused(text, name, message, listed):
    with pytest.raises(InputError, match=message):
        listed(text, name)


def test_the_message_for_a_text_says_what_to_give(listed):
    with pytest.raises(InputError, match=r"such as 'hello'\. Give a folder, an archive, or a text"):
        listed("hello")


def test_a_table_with_semicolons_is_read(tmp_path, png):
    (tmp_path / "a,b.png").write_bytes(png(1))
    (tmp_path / "list.csv").write_text("label;path\nrose;a,b.png\n")
    pool = open_pool(tmp_path / "list.csv")
    assert (pool.locate(0), pool.labels.names) == ("a,b.png", ("rose",))


def test_a_table_without_a_column_of_paths_shows_its_head(tmp_path):
    (tmp_path / "list.csv").write_text("id|url\n1|2\n")
    with pytest.raises(InputError, match=r"must name a column path or .*, got 'id\|url'"):
        open_pool(tmp_path / "list.csv")
