"""Data sets of the Hugging Face hub, and the texts that name them."""

import logging

import pytest
from PIL import Image

from mixmood.core.errors import InputError, OptionError
from mixmood.data.open import open_pool
from mixmood.data.readers import objects as hub_module
from mixmood.data.readers.objects import open_hub

pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def hub_set():
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    features = datasets.Features(
        {"image": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"])}
    )
    images = [Image.new("L", (5, 4), value) for value in (1, 2, 3)]
    return datasets.Dataset.from_dict({"image": images, "label": [1, 0, 1]}, features=features)


def test_a_data_set_saved_to_disk_is_a_pool(hub_set, tmp_path, values_of):
    hub_set.save_to_disk(tmp_path / "animals")
    pool = open_pool(f"hf://{tmp_path}/animals")
    assert values_of(pool) == [1, 2, 3]
    assert pool.labels.counts() == {"cat": 1, "dog": 2}
    assert pool.name == "animals"
    assert isinstance(pool.fetch(0), bytes)


def test_the_split_of_a_saved_data_set_is_chosen(hub_set, tmp_path, values_of):
    datasets = pytest.importorskip("datasets")
    both = datasets.DatasetDict({"train": hub_set, "test": hub_set.select([2])})
    both.save_to_disk(tmp_path / "animals")
    assert values_of(open_pool(f"hf://{tmp_path}/animals")) == [1, 2, 3]
    assert values_of(open_pool(f"hf://{tmp_path}/animals:test", "mine")) == [3]
    with pytest.raises(InputError, match=r"configuration default, split dev: KeyError"):
        open_pool(f"hf://{tmp_path}/animals:dev")


def test_a_folder_in_the_layout_of_the_hub_is_loaded_by_name(
    hub_set, tmp_path, values_of, monkeypatch
):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = tmp_path / "animals"
    folder.mkdir()
    hub_set.to_parquet(folder / "train.parquet")
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    pool = open_pool(f"hf://{folder}@default:train")
    assert values_of(pool) == [1, 2, 3]
    assert pool.labels.counts() == {"cat": 1, "dog": 2}


def test_a_data_set_that_is_nowhere_is_refused(monkeypatch):
    datasets = pytest.importorskip("datasets")

    def offline(*_, **__):
        raise ConnectionError("no network")

    monkeypatch.setattr(datasets, "load_dataset", offline)
    monkeypatch.setattr(hub_module, "_answers", lambda _: True)
    with pytest.raises(
        InputError, match=r"data set x/y, configuration z, split test: ConnectionErr"
    ):
        open_hub("hf://x/y@z:test", None)


def test_a_hub_that_does_not_answer_is_asked_once_and_without_a_word(monkeypatch, capfd):
    """Its own package asks six times over half a minute, and tells of each on stderr."""
    hub, datasets = pytest.importorskip("huggingface_hub"), pytest.importorskip("datasets")
    asked, level = [], logging.getLogger("huggingface_hub").level

    class Away:
        def head(self, url, timeout):
            asked.append(url)
            raise OSError("no network")

    def load(*_, **__):
        logging.getLogger("huggingface_hub.utils._http").warning("Retrying in 1s")
        raise ConnectionError(f"{hub.constants.HF_HUB_OFFLINE} {datasets.config.HF_HUB_OFFLINE}")

    monkeypatch.setattr(hub.utils, "get_session", Away)
    monkeypatch.setattr(datasets, "load_dataset", load)
    with pytest.raises(InputError, match="ConnectionError: True True"):
        open_hub("hf://x/y", None)
    assert asked == [hub.constants.ENDPOINT]
    assert capfd.readouterr().err == ""
    assert not hub.constants.HF_HUB_OFFLINE
    assert not datasets.config.HF_HUB_OFFLINE
    assert logging.getLogger("huggingface_hub").level == level


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("hf://x/y", ("x/y", None, "train")),
        ("hf://x/y:test", ("x/y", None, "test")),
        ("hf://x@c", ("x", "c", "train")),
        ("hf://x@c:test[:10%]", ("x", "c", "test[:10%]")),
        ("hf://x:test@c", ("x", "c", "test")),
    ],
)
def test_a_text_names_data_set_configuration_and_split(text, asked, monkeypatch, hub_set):
    datasets = pytest.importorskip("datasets")
    seen = []

    def load(where, config, split):
        seen.append((where, config, split))
        return hub_set

    monkeypatch.setattr(datasets, "load_dataset", load)
    monkeypatch.setattr(hub_module, "_answers", lambda _: True)
    assert open_hub(text, None).name == asked[0].rpartition("/")[2]
    assert seen == [asked]


@pytest.mark.parametrize("text", ["hf://", "hf://@x", "hf://a:b@", "hf://a:b:c"])
def test_a_text_that_names_no_data_set_is_refused(text):
    with pytest.raises(
        OptionError, match=r"written hf://NAME, hf://NAME:SPLIT or hf://NAME@CONFIG"
    ):
        open_hub(text, None)
