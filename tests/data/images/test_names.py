"""The order of names, and the classes that their folders tell."""

import numpy as np
import pytest

from mixmood.data.images import labels as folder_names
from mixmood.data.images.labels import labels_from_folders
from mixmood.data.images.names import (
    by_length,
    is_image_path,
    names_digest,
    shown_bytes,
)


def test_short_names_come_first_so_that_numbers_are_in_their_natural_order():
    names = [b"10.png", b"9.png", b"2.png"]
    assert sorted(names, key=by_length) == [b"2.png", b"9.png", b"10.png"]


def test_the_digest_tells_where_one_name_ends_and_the_next_begins():
    assert names_digest([b"ab", b"c"]) != names_digest([b"a", b"bc"])


@pytest.mark.parametrize(
    "path", ["a.png", "a/b.JPEG", "a/b/c.tiff", "x y/ü.webp", "a.b.jpg", "./a.png"]
)
def test_image_paths_are_known_by_their_end(path):
    assert is_image_path(path.removeprefix("./").encode())


@pytest.mark.parametrize(
    "path",
    [
        *("Thumbs.db", "desktop.ini", ".DS_Store", "a/._b.png", ".git/a.png", "__MACOSX/a.png"),
        *("a/__MACOSX/b.png", "@eaDir/a.jpg", "notes.txt", "png", "a.png/", "a.png.txt", ""),
    ],
)
def test_other_files_are_left_out(path):
    assert not is_image_path(path.encode())


def classes(*paths):
    labels = labels_from_folders([path.encode() for path in paths])
    return None if labels is None else [labels.names[code] for code in labels.codes]


def test_class_folders_give_labels():
    assert classes("cat/1.png", "dog/1.png", "cat/new/2.png") == ["cat", "dog", "cat"]


def test_folders_that_all_images_share_are_no_class():
    assert classes("crawl/in/cat/1.png", "crawl/in/dog/1.png") == ["cat", "dog"]
    assert classes("cat/1.png", "cat/2.png") is None
    assert classes("cat/1.png") is None


def test_one_image_outside_the_class_folders_means_that_they_are_none():
    assert classes("cat/1.png", "dog/1.png", "3.png") is None
    assert classes("1.png", "2.png") is None


def test_a_shared_start_of_two_names_is_no_shared_folder():
    assert classes("cat-a/1.png", "cat-b/1.png") == ["cat-a", "cat-b"]


def test_class_names_are_in_the_order_of_the_alphabet_and_counted():
    names = [b"dog/1.png", b"cat/1.png", b"dog/2.png"]
    labels = labels_from_folders(names)
    assert labels.names == ("cat", "dog")
    assert labels.codes.dtype == np.int32
    assert labels.counts() == {"cat": 1, "dog": 2}


def test_nearly_as_many_folders_as_images_are_no_classes(monkeypatch):
    monkeypatch.setattr(folder_names, "MOST_CLASSES", 3)
    assert classes("a/1.png", "b/1.png", "c/1.png") is not None
    assert classes("a/1.png", "b/1.png", "c/1.png", "d/1.png") is None


def test_a_name_that_is_no_text_can_be_printed():
    assert shown_bytes(b"caf\xe9.png") == "caf\\xe9.png"
    assert shown_bytes("café.png".encode()) == "café.png"
