"""Pools that are Python objects."""

import numpy as np
import pytest
from PIL import Image

from mixmood.core.errors import InputError, ShapeError, UnreadableImageError
from mixmood.data.open import open_pool
from mixmood.data.readers.objects import from_dataset, from_list

GREYS = [10, 20, 30]


def pictures():
    return [Image.new("L", (5, 4), value) for value in GREYS]


class Items:
    """A torch-style data set of whatever items it is given."""

    def __init__(self, items, **attributes):
        self._items = items
        self.__dict__.update(attributes)

    def __len__(self):
        return len(self._items)

    def __getitem__(self, index):
        item = self._items[index]
        if isinstance(item, Exception):
            raise item
        return item


def test_a_list_of_pillow_images_is_a_pool(values_of):
    pool = open_pool(pictures())
    assert values_of(pool) == GREYS
    assert (pool.name, pool.locate(1), pool.labels) == ("images", "images[1]", None)


def test_a_list_of_pillow_files_not_yet_loaded_is_a_pool(values_of, tree):
    root = tree({f"{value}.png": value for value in GREYS})
    files = [Image.open(root / f"{value}.png") for value in GREYS]
    assert values_of(open_pool(files)) == GREYS
    for file in files:
        file.close()


def test_a_list_of_arrays_of_different_sizes_is_a_pool(values_of, png):
    items = [np.full((4, 5), 10, np.uint8), np.full((9, 2, 3), 20, np.uint8), png(30)]
    assert values_of(open_pool(items)) == GREYS


def test_a_list_of_pairs_has_labels(values_of):
    pool = open_pool(list(zip(pictures(), ["b", "a", "b"], strict=True)))
    assert values_of(pool) == GREYS
    assert pool.labels.counts() == {"a": 1, "b": 2}


@pytest.mark.parametrize("with_label", [False, True])
def test_a_torch_style_data_set_is_a_pool(with_label, values_of):
    items = [(picture, 7) if with_label else picture for picture in pictures()]
    pool = open_pool(Items(items))
    assert values_of(pool) == GREYS
    assert pool.name == "Items"


def test_the_targets_of_a_data_set_are_its_labels():
    named = open_pool(Items(pictures(), targets=[1, 0, 1], classes=["cat", "dog"]))
    assert named.labels.counts() == {"cat": 1, "dog": 2}
    assert open_pool(Items(pictures(), targets=[1, 0, 1])).labels.counts() == {"0": 1, "1": 2}


def test_tensors_have_their_channels_first():
    torch = pytest.importorskip("torch")
    tensors = [
        torch.full((3, 4, 5), 0.2, requires_grad=True),
        torch.full((1, 4, 5), 51, dtype=torch.uint8),
        torch.full((4, 5), 51, dtype=torch.uint8),
    ]
    for picture in open_pool(Items([(tensor, 0) for tensor in tensors])).read(range(3)):
        assert picture.shape == (4, 5, 3)
        assert (picture == 51).all()


def test_a_normalised_tensor_is_unreadable_with_the_reason():
    torch = pytest.importorskip("torch")
    (error,) = open_pool([torch.full((3, 4, 5), -1.5)]).read([0])
    assert "float pixels must be finite and in 0..1, got -1.5 to -1.5" in str(error)


def test_an_item_that_fails_is_an_unreadable_image():
    pool = open_pool(Items([RuntimeError("disk on fire"), *pictures()]), "mine")
    with pytest.raises(
        UnreadableImageError, match=r"mine\[0\]: cannot be read: RuntimeError: disk"
    ):
        pool.fetch(0)
    assert next(pool.read([1]))[0, 0, 0] == 10


def test_fetching_asks_the_data_set_for_that_item_only():
    asked = []
    data = Items(pictures())
    get = data.__class__.__getitem__
    Spy = type("Spy", (Items,), {"__getitem__": lambda s, i: asked.append(i) or get(s, i)})
    pool = open_pool(Spy(pictures()))
    asked.clear()
    pool.fetch(2)
    assert asked == [2]


def test_the_fingerprint_follows_content():
    first = open_pool(pictures()).fingerprint
    assert open_pool(Items(pictures())).fingerprint == first
    assert open_pool(pictures()[:2]).fingerprint != first
    assert open_pool([*pictures()[:2], Image.new("L", (5, 4), 31)]).fingerprint != first


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([], r"images: there are no images in it"),
        ([None], r"got NoneType"),
        ([{"image": 1}], r"got dict"),
    ],
)
def test_a_list_of_other_things_is_refused(items, message):
    with pytest.raises(InputError, match=message):
        from_list(items, "images")


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="x: one label per image .* got 2 labels for 3 images"):
        from_dataset(Items(pictures(), targets=[0, 1]), "x")
    with pytest.raises(ShapeError, match="1-D array of integers or texts"):
        from_dataset(Items(pictures(), targets=[0.5, 1, 2]), "x")


def hub_dataset(**columns):
    datasets = pytest.importorskip("datasets")
    features = {
        "label": datasets.ClassLabel(names=["cat", "dog"]),
        "picture": datasets.Image(),
        "text": datasets.Value("string"),
    }
    kinds = {name: features[name] for name in columns}
    return datasets.Dataset.from_dict(columns, features=datasets.Features(kinds))


def test_a_hugging_face_data_set_gives_its_image_column_and_labels(values_of):
    data = hub_dataset(text=["x"] * 3, picture=pictures(), label=[1, 0, 1])
    pool = open_pool(data, "hub")
    assert values_of(pool) == GREYS
    assert pool.labels.counts() == {"cat": 1, "dog": 2}


def test_a_hugging_face_data_set_without_labels_is_a_pool(values_of):
    pool = open_pool(hub_dataset(picture=pictures()))
    assert values_of(pool) == GREYS
    assert (pool.labels, pool.name) == (None, "Dataset")


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ([1, -1, 0], "int64, 1 of them missing"),
        ([1, None, None], "object, 2 of them missing"),
        ([0.5, 1.0, 1.0], "float64, 0 of them missing"),
    ],
)
def test_a_hugging_face_data_set_says_why_its_labels_are_no_classes(labels, reason):
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict({"image": pictures(), "label": labels})
    pool = open_pool(data.cast_column("image", datasets.Image()))
    assert pool.labels is None
    assert f"Its column 'label' holds values of the type {reason}" in pool.why_unlabelled


def test_bools_of_a_hugging_face_data_set_are_classes():
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict({"image": pictures(), "label": [True, False, True]})
    pool = open_pool(data.cast_column("image", datasets.Image()))
    assert pool.labels.counts() == {"False": 1, "True": 2}


def test_a_hugging_face_data_set_without_images_is_refused():
    with pytest.raises(
        InputError, match=r"hub: the data set has no image column; it has: text \(V"
    ):
        open_pool(hub_dataset(text=["x"]), "hub")


def test_several_splits_or_a_stream_of_hugging_face_are_refused():
    datasets = pytest.importorskip("datasets")
    data = hub_dataset(picture=pictures())
    for wrong in (datasets.DatasetDict({"train": data}), data.to_iterable_dataset()):
        with pytest.raises(InputError, match=r"one split that is not streamed; choose one"):
            open_pool(wrong, "hub")


def test_a_hugging_face_column_of_words_with_a_usual_name_is_the_classes(png):
    datasets = pytest.importorskip("datasets")
    rows = {"image": [{"bytes": png(k), "path": None} for k in (1, 2)], "label": ["rose", "tulip"]}
    kinds = datasets.Features({"image": datasets.Image(), "label": datasets.Value("string")})
    pool = open_pool(datasets.Dataset.from_dict(rows, features=kinds))
    assert pool.labels.counts() == {"rose": 1, "tulip": 1}
