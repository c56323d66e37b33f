"""Tiny random models of four families in the form of Hugging Face, saved to folders."""

import shutil

import pytest
from tests.fixtures.hub_families import FAMILIES


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """The folder of a model of each family."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    folders = {}
    transformers.utils.logging.disable_progress_bar()
    for name, make in FAMILIES.items():
        torch.manual_seed(0)
        model, processor = make()
        folders[name] = tmp_path_factory.mktemp("models") / name
        model.save_pretrained(folders[name])
        processor.save_pretrained(folders[name])
    return folders


@pytest.fixture
def copied(saved, tmp_path):
    """A folder of the ViT that a test may spoil."""
    return shutil.copytree(saved["vit"], tmp_path / "vit")
