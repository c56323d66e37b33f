"""Classes of whole images from folders and annotations in the manner of COCO and YOLO."""

import json

import pytest

from mixmood.core.errors import InputError
from mixmood.data.images.detection import MOST_JSON_BYTES
from mixmood.data.open import open_pool


def classes_of(pool):
    labels = pool.labels
    return None if labels is None else [labels.names[code] for code in labels.codes]


def test_folders_that_part_a_set_for_use_are_no_classes(tree):
    pool = open_pool(tree({"train/cat/1.png": 1, "train/dog/2.png": 2, "val/cat/3.png": 3}))
    assert sorted(classes_of(pool)) == ["cat", "cat", "dog"]


def test_a_set_parted_for_use_and_nothing_else_has_no_classes(tree):
    assert open_pool(tree({"train2017/1.png": 1, "val2017/2.png": 2})).labels is None


@pytest.fixture
def coco(tree):
    def make(objects):
        folder = tree({"train/1.png": 1, "train/2.png": 2, "val/3.png": 3})
        (folder / "annotations").mkdir()
        content = {
            "images": [{"id": k, "file_name": f"{k}.png"} for k in (1, 2, 3)],
            "categories": [{"id": 7, "name": "rose"}, {"id": 8, "name": "tulip"}],
            "annotations": [{"image_id": i, "category_id": c} for i, c in objects],
        }
        (folder / "annotations" / "instances.json").write_text(json.dumps(content))
        return folder

    return make


def test_coco_annotations_of_one_class_an_image_are_classes(coco):
    assert classes_by_image(coco([(1, 7), (1, 7), (2, 8), (3, 8)])) == {
        "train/1.png": "rose",
        "train/2.png": "tulip",
        "val/3.png": "tulip",
    }


def annotate(path, kinds):
    """Write annotations of one object an image: its class by the name of its file."""
    content = {
        "images": [{"id": number, "file_name": name} for number, name in enumerate(kinds)],
        "categories": [{"id": kind, "name": kind} for kind in set(kinds.values())],
        "annotations": [{"image_id": n, "category_id": k} for n, k in enumerate(kinds.values())],
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content))


def classes_by_image(folder):
    pool = open_pool(folder)
    return dict(zip(map(pool.locate, range(len(pool))), classes_of(pool), strict=True))


def test_images_of_one_name_in_two_folders_are_told_apart_by_their_folders(tree):
    folder = tree({"train/1.png": 1, "val/1.png": 2})
    annotate(folder / "annotations" / "all.json", {"train/1.png": "rose", "val/1.png": "tulip"})
    assert classes_by_image(folder) == {"train/1.png": "rose", "val/1.png": "tulip"}


def test_annotations_beside_their_images_are_of_their_folder(tree):
    folder = tree({"train/1.png": 1, "val/1.png": 2})
    for part, kind in (("train", "rose"), ("val", "tulip")):
        annotate(folder / part / "_annotations.coco.json", {"1.png": kind})
    assert classes_by_image(folder) == {"train/1.png": "rose", "val/1.png": "tulip"}


def test_annotations_may_name_folders_that_are_not_there(tree):
    folder = tree({"1.png": 1, "2.png": 2})
    annotate(folder / "annotations" / "all.json", {"train/1.png": "rose", "./2.png": "tulip"})
    assert classes_by_image(folder) == {"1.png": "rose", "2.png": "tulip"}


@pytest.mark.parametrize(
    "kinds", [{"1.png": "rose"}, {"a/1.png": "rose", "b/1.png": "tulip"}], ids=["once", "twice"]
)
def test_a_name_that_several_images_have_gives_none_of_them_a_class(tree, kinds):
    folder = tree({"train/1.png": 1, "val/1.png": 2})
    annotate(folder / "annotations" / "all.json", kinds)
    assert open_pool(folder).labels is None


@pytest.mark.parametrize("objects", [[(1, 7), (1, 8), (2, 8), (3, 8)], [(1, 7), (2, 8)]])
def test_an_image_with_objects_of_several_classes_or_none_has_no_class(coco, objects):
    assert open_pool(coco(objects)).labels is None


def test_coco_annotations_that_refer_to_nothing_are_an_error(coco):
    with pytest.raises(InputError, match="Annotations must refer to images and categories"):
        open_pool(coco([(9, 7)]), role="labelled set")


def test_broken_json_is_named(coco):
    folder = coco([(1, 7)])
    (folder / "annotations" / "instances.json").write_text("{")
    with pytest.raises(InputError, match=r"Cannot read the labels in .*instances.json"):
        _ = open_pool(folder).labels


def test_json_of_another_kind_is_left_alone(tree):
    folder = tree({"a/1.png": 1, "b/2.png": 2})
    (folder / "annotations.json").write_text("[1]")
    assert classes_of(open_pool(folder)) == ["a", "b"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("data.yaml", "nc: 2\nnames: ['rose', \"tulip\"]\n"),
        ("data.yaml", "names:\n  0: rose\n  1: tulip\nnc: 2\n"),
        ("data.yaml", "names:\n  - rose\n  - tulip\n"),
        ("data.yaml", "names:\n- rose\n- 'tulip'  # the second\nnc: 2\n"),
        ("data.yaml", "names: {1: tulip, 0: rose}\n"),
        ("data.yaml", "names:\n  1: tulip\n  7: other\n  0: rose\n"),
        ("classes.txt", "rose\ntulip\n"),
    ],
)
def test_yolo_texts_of_one_class_an_image_are_classes(tree, file, text):
    folder = tree({"images/train/1.png": 1, "images/val/2.png": 2})
    (folder / file).write_text(text)
    for name, objects in (("train/1.txt", "1 .5 .5 .1 .1\n1 .2 .2 .1 .1\n"), ("val/2.txt", "0 0")):
        (folder / "labels" / name).parent.mkdir(parents=True)
        (folder / "labels" / name).write_text(objects)
    pool = open_pool(folder)
    found = dict(zip(map(pool.locate, range(2)), classes_of(pool), strict=True))
    assert found == {"images/train/1.png": "tulip", "images/val/2.png": "rose"}


def test_a_yolo_text_that_is_none_is_named(tree):
    folder = tree({"images/1.png": 1, "labels/1.txt": b"rose 1 2\n"})
    with pytest.raises(InputError, match=r"Cannot read the labels in .*1.txt: invalid literal"):
        _ = open_pool(folder).labels


def test_a_missing_yolo_text_leaves_the_set_unlabelled(tree):
    folder = tree({"images/1.png": 1, "images/2.png": 2, "labels/1.txt": b"0 1 2\n"})
    assert open_pool(folder).labels is None


def test_annotations_too_large_to_be_read_are_named(coco):
    folder = coco([(1, 7)])
    with (folder / "annotations" / "instances.json").open("r+b") as file:
        file.truncate(MOST_JSON_BYTES + 1)
    with pytest.raises(InputError, match="instances.json: it has more than 268435456 bytes"):
        _ = open_pool(folder).labels


def test_a_list_of_yolo_classes_that_is_no_text_is_named(tree):
    folder = tree({"images/1.png": 1, "labels/1.txt": b"0 1 2\n", "classes.txt": bytes(70_000)})
    message = r"Cannot read the classes in .*classes.txt: a line is longer than 65536 bytes"
    with pytest.raises(InputError, match=message):
        _ = open_pool(folder).labels
